#include "kernels/copy/plan/shuffle.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>

#include "kernels/copy/block.h"
#include "kernels/copy/plan/side.h"
#include "kernels/copy/plan/spacing.h"

namespace axis {
namespace {

// Less than this of runs that lie apart does not pay for the table.
constexpr int64_t kLeastApart = 1 << 10;

struct FoundShuffle {
  int64_t run;       // bytes
  size_t num_outer;  // how many loops there are around it
  size_t runs;       // which of them goes from run to run
};

// Whether the innermost loops of `copy` from `first` on permute runs of `bytes`
// in place.
bool IsShuffle(const ByteCopy& copy, size_t first, int64_t bytes) {
  int64_t dst = copy.item, last = copy.item - 1;
  for (size_t l = copy.loops.size(); l-- > first;) {
    if (copy.loops[l].dst_stride != dst) return false;
    dst *= copy.loops[l].extent;
    last += (copy.loops[l].extent - 1) * copy.loops[l].src_stride;
  }
  return last == bytes - 1;
}

// Whether runs follow runs.
bool AreDense(const Loop& runs, int64_t bytes) {
  return runs.src_stride == bytes && runs.dst_stride == bytes;
}

// The loop that goes from run to run, if it pays. Between runs there may be
// gaps only where whole vectors are looked up, parts of which can be stored; or
// on one side, if columns are shorter than a vector: then runs are moved
// together, or apart, before or after.
std::optional<size_t> FindRuns(const ByteCopy& copy, size_t num_outer,
                               int64_t bytes, int64_t most) {
  const Loop& next = copy.loops[num_outer - 1];
  const int64_t num_a = copy.loops.back().extent, item = copy.item;
  const bool looks_up = most == kMaxShuffle;
  const bool is_short = num_a * item < kPiece;
  if (looks_up || AreDense(next, bytes)) {
    // One that is no longer than a few vectors does not pay for its table,
    // unless it takes the place of columns that are shorter than one.
    const bool pays =
        next.extent * bytes >= (looks_up || is_short ? 2 : 8) * most;
    return pays ? std::optional(num_outer - 1) : std::nullopt;
  }
  std::optional<size_t> found;
  if (!is_short || FitsVectors(num_a, bytes / (num_a * item), item))
    return found;
  int64_t longest = kLeastApart / bytes;
  for (size_t l = 0; l < num_outer; ++l) {
    const Loop& loop = copy.loops[l];
    if ((loop.src_stride == bytes || loop.dst_stride == bytes) &&
        loop.extent > longest) {
      found = l;
      longest = loop.extent;
    }
  }
  return found;
}

// The longest runs of at most `most` bytes that the innermost loops of `copy`
// permute in place.
std::optional<FoundShuffle> FindShuffle(const ByteCopy& copy, int64_t most) {
  std::optional<FoundShuffle> found;
  int64_t bytes = copy.item;
  for (size_t first = copy.loops.size(); first-- > 1;) {
    bytes *= copy.loops[first].extent;
    if (bytes > most) break;
    if (copy.loops.size() - first < 2 || !IsShuffle(copy, first, bytes))
      continue;
    if (const auto runs = FindRuns(copy, first, bytes, most))
      found = {bytes, first, *runs};
  }
  return found;
}

// Fills in where the bytes of a step come from.
void FillShuffle(const ByteCopy& copy, const FoundShuffle& found,
                 std::array<uint8_t, kMaxShuffle>& shuffle) {
  std::iota(shuffle.begin(), shuffle.begin() + copy.item, uint8_t{0});
  int64_t filled = copy.item;
  auto repeat = [&](int64_t extent, int64_t stride) {
    for (int64_t i = 1; i < extent; ++i)
      std::transform(shuffle.begin(), shuffle.begin() + filled,
                     shuffle.begin() + i * filled, [&](uint8_t from) {
                       return static_cast<uint8_t>(from + i * stride);
                     });
    filled *= extent;
  };
  for (size_t l = copy.loops.size(); l-- > found.num_outer;)
    repeat(copy.loops[l].extent, copy.loops[l].src_stride);
  repeat(ShuffleStep(found.run) / found.run, found.run);
}

}  // namespace

bool PlanShuffle(BlockPlan& plan, const ByteCopy& copy, int64_t total_bytes,
                 const Machine& machine) {
  const auto found = FindShuffle(copy, machine.shuffle);
  if (!found) return false;
  plan.kernel = Kernel::kShuffle;
  plan.item = found->run;
  FillShuffle(copy, *found, plan.shuffle);
  Loops loops = copy.loops;
  loops.resize(found->num_outer);
  plan.batch = Take(loops, found->runs);
  plan.batch_block = plan.batch.extent;
  plan.outer = loops;
  if (AreDense(plan.batch, plan.item)) {
    plan.stream = machine.StreamsInterleaved(total_bytes);
  } else if (!machine.LooksUp()) {
    const bool first = plan.batch.dst_stride == plan.item;
    plan.together = first ? Together::kFirst : Together::kLast;
    plan.batch_block = EqualPart(plan.batch.extent, kRepeatBytes / plan.item);
  }
  return true;
}

}  // namespace axis
