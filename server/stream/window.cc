#include "server/stream/window.h"

#include <algorithm>
#include <utility>

namespace axis {
namespace {

// One past the last bit that a plan reads or writes.
int64_t EndOf(const Plan& plan, int64_t offset, int64_t Loop::*stride) {
  int64_t end = offset + plan.run;
  for (const Loop& loop : plan.loops) end += (loop.extent - 1) * (loop.*stride);
  return end;
}

// WindowOf a single plan.
//
// Units come in the order of the loops sorted by source stride. When the first
// missing unit lies in the next index of loop k, or is the first there, the
// farthest one written is at most the last of all loops inside of k, at the
// index before. Indices of the loops around k are the same for both. So the
// distance is what those inside reach over, less one step of k.
int64_t WindowOf(const Plan& plan) {
  auto loops = plan.loops;
  std::sort(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) {
    return a.src_stride < b.src_stride;
  });
  const int64_t unit = UnitBytes(plan.item_bits) * 8;
  int64_t inside = plan.run - unit, window = 0;
  for (const Loop& loop : loops) {
    window = std::max(window, inside - loop.dst_stride);
    inside += (loop.extent - 1) * loop.dst_stride;
  }
  return (window + unit) / 8;
}

Group InOneStep(int64_t src_begin, int64_t src_end, int64_t dst_begin,
                int64_t dst_end) {
  const int64_t size = dst_end - dst_begin;
  return {src_begin, src_end, dst_begin, dst_end, size, 1, size, size};
}

// The group of a single output: the steps of its outermost loop, if all that
// one step reads comes before what the next one reads.
Group GroupOf(const Stretch& o) {
  const Plan& plan = *o.plan;
  Group group = InOneStep(o.src_begin, o.src_end, o.dst_begin, o.dst_end);
  group.window = WindowOf(plan);
  if (plan.loops.empty()) {
    group.src_step = group.dst_step = UnitBytes(plan.item_bits);
    group.steps = (o.dst_end - o.dst_begin) / group.dst_step;
    return group;
  }
  const Loop& outer = plan.loops.front();
  const int64_t read =
      EndOf(plan, 0, &Loop::src_stride) - (outer.extent - 1) * outer.src_stride;
  if (read > outer.src_stride) return group;
  group.steps = outer.extent;
  group.src_step = outer.src_stride / 8;
  group.dst_step = outer.dst_stride / 8;
  return group;
}

}  // namespace

std::vector<Stretch> Stretches(const Program& program) {
  std::vector<const Plan*> plans(program.buffer_bytes.size());
  for (const Program::Pass& pass : program.passes)
    for (const Program::Write& write : pass.writes)
      plans[static_cast<size_t>(write.buffer)] = &write.plan;
  std::vector<Stretch> outputs;
  int64_t end = 0;
  for (const Program::Output& output : program.outputs) {
    const size_t buffer = static_cast<size_t>(output.buffer);
    const Plan* plan = plans[buffer];
    Stretch stretch{nullptr, end, end + program.buffer_bytes[buffer], 0, 0};
    if (stretch.dst_end > stretch.dst_begin) {
      stretch.plan = plan;
      stretch.src_begin = plan->src_offset / 8;
      stretch.src_end = EndOf(*plan, plan->src_offset, &Loop::src_stride) / 8;
    }
    end = stretch.dst_end;
    outputs.push_back(stretch);
  }
  return outputs;
}

bool IsIdentity(const std::vector<Stretch>& outputs) {
  return std::all_of(outputs.begin(), outputs.end(), [](const Stretch& o) {
    return o.plan == nullptr || (IsSlice(*o.plan, o.dst_end - o.dst_begin) &&
                                 o.src_begin == o.dst_begin);
  });
}

std::vector<Group> GroupsOf(const std::vector<Stretch>& outputs) {
  std::vector<Group> groups;
  for (const Stretch& o : outputs) {
    if (o.plan == nullptr) continue;
    Group group = GroupOf(o);
    // Outputs that do not read the input one after the other are held as a
    // whole.
    for (; !groups.empty() && group.src_begin < groups.back().src_end;
         groups.pop_back()) {
      const Group& before = groups.back();
      group = InOneStep(std::min(group.src_begin, before.src_begin),
                        std::max(group.src_end, before.src_end),
                        before.dst_begin, group.dst_end);
    }
    groups.push_back(group);
  }
  return groups;
}

int64_t WindowOf(const std::vector<Group>& groups) {
  int64_t window = 0;
  for (const Group& group : groups) window = std::max(window, group.window);
  return window;
}

Segment Segments::Next(int64_t bytes) {
  Segment segment{0, at_, at_};
  while (group_ < groups_.size()) {
    const Group& group = groups_[group_];
    int64_t steps =
        std::min(group.steps - step_,
                 (bytes - (at_ - segment.dst_begin)) / group.dst_step);
    if (at_ == segment.dst_begin) steps = std::max<int64_t>(steps, 1);
    if (steps <= 0) break;  // no room, or less than none
    step_ += steps;
    at_ += steps * group.dst_step;
    segment.src_end =
        std::min(group.src_begin + step_ * group.src_step, group.src_end);
    if (step_ < group.steps) break;
    ++group_;
    step_ = 0;
  }
  segment.dst_end = at_;
  return segment;
}

}  // namespace axis
