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

int64_t UnitBytes(int64_t item_bits) {
  if (item_bits % 8 == 0) return item_bits / 8;
  return item_bits % 3 == 0 ? 3 : 1;
}

bool IsWholeUnits(const Plan& plan) {
  if (plan.item_bits % 8 == 0) return true;
  const int64_t unit = UnitBytes(plan.item_bits) * 8;
  auto whole = [&](int64_t n) { return n % unit == 0; };
  return whole(plan.src_offset) && whole(plan.dst_offset) && whole(plan.run) &&
         std::all_of(plan.loops.begin(), plan.loops.end(), [&](const Loop& l) {
           return whole(l.src_stride) && whole(l.dst_stride);
         });
}

bool IsIdentity(const std::vector<Stretch>& outputs) {
  return std::all_of(outputs.begin(), outputs.end(), [](const Stretch& o) {
    return o.plan == nullptr || (IsSlice(*o.plan, o.dst_end - o.dst_begin) &&
                                 o.src_begin == o.dst_begin);
  });
}

int64_t WindowOf(const std::vector<Stretch>& outputs) {
  // Outputs that read the input one after the other need their windows one
  // after the other; a group of those that do not is held as a whole.
  struct Group {
    int64_t src_begin, src_end, dst_begin, dst_end, window;
  };
  std::vector<Group> groups;
  for (const Stretch& o : outputs) {
    if (o.plan == nullptr) continue;
    Group group{o.src_begin, o.src_end, o.dst_begin, o.dst_end,
                WindowOf(*o.plan)};
    for (; !groups.empty() && group.src_begin < groups.back().src_end;
         groups.pop_back()) {
      const Group& before = groups.back();
      group = {std::min(group.src_begin, before.src_begin),
               std::max(group.src_end, before.src_end), before.dst_begin,
               group.dst_end, group.dst_end - before.dst_begin};
    }
    groups.push_back(group);
  }
  int64_t window = 0;
  for (const Group& group : groups) window = std::max(window, group.window);
  return window;
}

}  // namespace axis
