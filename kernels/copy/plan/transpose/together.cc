#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/copy/block.h"
#include "kernels/copy/plan/side.h"
#include "kernels/copy/plan/spacing.h"
#include "kernels/copy/plan/transpose/transpose_plan.h"

namespace axis {
namespace {

// What short rows or columns must come to if they are moved as one; of bytes
// half of that.
constexpr int64_t kShortOne = 128;

// The loop along which blocks of `many` times `few` items, both sides that
// short, are one if they have no gaps on the other side: `first`, in the
// source, where they are brought together, or in the destination. It must be
// worth the way by scratch, which is longer to the latter.
std::optional<size_t> FindTogether(int64_t item, const Side& many,
                                   const Side& few, bool first,
                                   const Loops& loops) {
  const auto along = first ? &Loop::dst_stride : &Loop::src_stride;
  const auto across = first ? &Loop::src_stride : &Loop::dst_stride;
  const int64_t run = many.extent * item, piece = few.extent * item;
  const bool interleaved = few.extent <= kMostInterleaved;
  const int64_t longest = first && !interleaved ? kLineBytes : kLineBytes / 2;
  const std::optional<size_t> next = Find(loops, along, run);
  const int64_t least = !first      ? 3 * kShortOne
                        : item == 1 ? kShortOne / 2
                                    : kShortOne;
  if (!next || many.loops[0].*across != piece || piece >= kPiece ||
      run >= longest || loops[*next].extent * run < least)
    return std::nullopt;
  return next;
}

// As above, `first`; rows that have gaps take in what fills them.
std::optional<size_t> FillGaps(BlockPlan& plan, Loops& loops) {
  const int64_t row = plan.a.loops[0].src_stride;
  if (plan.b.extent * plan.item >= std::min(row, kPiece)) return std::nullopt;
  Side rows = plan.b;
  Loops left = loops;
  Grow(rows, &Loop::src_stride, plan.item, row, left);
  const auto next = FindTogether(plan.item, plan.a, rows, true, left);
  if (next) {
    plan.b = rows;
    loops = left;
  }
  return next;
}

}  // namespace

bool PlanTogether(BlockPlan& plan, Loops& loops) {
  if (!plan.columns.empty()) return false;
  const int64_t item = plan.item;
  std::optional<size_t> next = FindTogether(item, plan.a, plan.b, true, loops);
  if (!next) next = FillGaps(plan, loops);
  const bool first = next.has_value();
  if (!first) next = FindTogether(item, plan.b, plan.a, false, loops);
  if (!next) return false;
  const int64_t many = (first ? plan.a : plan.b).extent;
  const int64_t few = (first ? plan.b : plan.a).extent;
  plan.together = first ? Together::kFirst : Together::kLast;
  plan.batch = Take(loops, *next);
  int64_t most = kRepeatBytes / item;
  if (AreInterleaved(item, few, many * plan.batch.extent)) {
    plan.kernel = first ? Kernel::kDeinterleave : Kernel::kInterleave;
  } else {
    plan.kernel = Kernel::kTranspose;
    most = std::min(most, kMaxOffsets * few);
  }
  plan.batch_block = EqualPart(plan.batch.extent, most / (many * few));
  std::sort(loops.begin(), loops.end(), IsWider);
  plan.outer = loops;
  return true;
}

}  // namespace axis
