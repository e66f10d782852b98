#include "kernels/copy/plan/block_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "kernels/copy/block.h"
#include "kernels/copy/plan/rows.h"
#include "kernels/copy/plan/shuffle.h"
#include "kernels/copy/plan/side.h"
#include "kernels/copy/plan/spacing.h"
#include "kernels/copy/plan/transpose/transpose_plan.h"

namespace axis {
namespace {

// Whether few columns are taken apart though they are shorter than vectors: a
// piece is enough, unless rows are pieces themselves, or all columns of small
// items go through a few registers together. With lookups that was measured of
// bytes in the second cache only.
bool AreShortColumns(const BlockPlan& plan, const Loops& loops,
                     int64_t total_bytes, const Machine& machine) {
  const int64_t item = plan.item, few = plan.b.extent;
  const bool packed = plan.columns.empty() &&
                      plan.b.loops[0].dst_stride == plan.a.extent * item;
  const bool bytes = item == 1 && total_bytes < machine.l2;
  return (bytes || !machine.LooksUp()) && item <= 8 &&
         few <= kMostInterleaved && plan.a.extent * item >= kPiece &&
         (few == 2 || few * item < kPiece) && (item == 1 || !packed) &&
         RepeatOften(loops);
}

// Whether interleaved rows are streamed in whole lines, wherever those begin:
// their repetitions follow one another, or are long enough.
bool Realigns(const BlockPlan& plan, const Loops& loops,
              const Machine& machine) {
  const int64_t run = plan.b.extent * plan.item;
  const int64_t repetition = run * plan.a.extent;
  return machine.LooksUp() && !plan.lines && run >= kLineBytes &&
         (repetition >= kRealignedRun ||
          std::ranges::min_element(loops, {}, &Loop::src_stride)->dst_stride ==
              repetition);
}

// Whether the many items of `side` are a few streams, of which several workers
// get as much out of a cache as of runs. Measured without lookups only; shorter
// ones lose up to a third.
bool AreLongStreams(const Side& side, int64_t item, const Machine& machine) {
  return !machine.LooksUp() && side.extent * item >= kPage;
}

// Shorter ones are moved faster by digits, or many repetitions at a time; of
// four of a power of two are all that are made of whole pieces.
constexpr int64_t kLeastTile = 48, kLeastOfFour = 20;

// Whether rows or columns below a line, `few` of them of `many` items, are
// interleaved or taken apart by looking each repetition up as a whole.
bool AreTiles(int64_t item, int64_t few, int64_t many) {
  const int64_t run = many * item;
  if (item > 8 || few > kMostInterleaved || run >= kLineBytes) return false;
  return few == 4 ? run >= kLeastOfFour && run % kPiece != 0
                  : few * run >= kLeastTile;
}

// Plans such. False if `plan` is not like that, or makes whole lines, which are
// better streamed past the caches.
bool PlanTiles(BlockPlan& plan, Loops& loops, int64_t total_bytes,
               const Machine& machine) {
  if (!machine.LooksUp()) return false;
  const int64_t item = plan.item;
  const int64_t a = plan.a.extent, b = plan.b.extent;
  const bool streams =
      machine.StreamsInterleaved(total_bytes) && a * b * item % kLineBytes == 0;
  if (plan.columns.empty() && AreTiles(item, a, b) && !streams &&
      plan.b.loops[0].dst_stride == a * item) {
    plan.kernel = Kernel::kInterleave;
  } else if (AreTiles(item, b, a) && plan.a.loops[0].src_stride == b * item) {
    plan.kernel = Kernel::kDeinterleave;
  } else {
    return false;
  }
  plan.tiles = true;
  OrderRepetitions(plan, loops, total_bytes, machine);
  Repeat(plan, loops, std::numeric_limits<int64_t>::max());  // not cut
  plan.outer = loops;
  return true;
}

// How many of `extent` times `few_bytes` are streamed in one go: whole lines of
// each item.
int64_t RealignedBlock(int64_t extent, int64_t few_bytes) {
  return std::min(extent, kRunsBytes / few_bytes / kLineBytes * kLineBytes);
}

// Few items on one side, all of them next to each other: whole vectors are
// interleaved or taken apart. False if `plan` is not like that. Nobody looks up
// where the many items are, so that there may be any number in a block.
bool PlanInterleave(BlockPlan& plan, Loops& loops, int64_t total_bytes,
                    const Machine& machine) {
  const int64_t item = plan.item;
  if (plan.columns.empty() &&
      AreInterleaved(item, plan.a.extent, plan.b.extent) &&
      plan.b.loops[0].dst_stride == plan.a.extent * item) {
    plan.kernel = Kernel::kInterleave;
    plan.lines = std::ranges::all_of(loops, KeepsLines);
    plan.realigns = Realigns(plan, loops, machine);
    plan.stream =
        (AreLongStreams(plan.b, item, machine)
             ? machine.StreamsLongRuns(total_bytes)
             : machine.StreamsInterleaved(total_bytes)) ||
        ((plan.lines || plan.realigns) && machine.StreamsLines(total_bytes));
    plan.realigns = plan.realigns && plan.stream;
    if (plan.realigns) {
      plan.b.block = RealignedBlock(plan.b.extent, plan.a.extent * item);
    } else if (plan.stream) {
      Cut(plan.b, item, kPage);
      // Of few long rows the lines to come are easily told.
      plan.lead = kMaxOffsets;
    }
  } else if ((AreInterleaved(item, plan.b.extent, plan.a.extent) ||
              AreShortColumns(plan, loops, total_bytes, machine)) &&
             plan.a.loops[0].src_stride == plan.b.extent * item) {
    plan.kernel = Kernel::kDeinterleave;
    plan.stream = AreLongStreams(plan.a, item, machine)
                      ? machine.StreamsLongRuns(total_bytes)
                      : machine.StreamsDeinterleaved(total_bytes);
    plan.realigns =
        plan.stream && machine.LooksUp() && plan.a.extent * item >= kLineBytes;
    if (plan.realigns) {
      plan.a.block = RealignedBlock(plan.a.extent, plan.b.extent * item);
    } else if (plan.stream) {
      Cut(plan.a, item, kPage);
    }
  } else {
    return false;
  }
  plan.stage = plan.stream;
  if (machine.HasFarL3() && plan.kernel == Kernel::kDeinterleave &&
      !plan.stream && total_bytes >= machine.l2 && !AreLines(plan, loops)) {
    // From far away, lines that are written in parts take longer than scratch.
    plan.stage = true;
    Cut(plan.a, item, kPage);
  }
  if (!machine.LooksUp()) {
    // Vectors take so long then that going by way of scratch costs more than
    // streaming gains: lines are streamed at once, or nothing is.
    plan.stage = false;
    plan.lead = 0;
    plan.stream = plan.stream && (plan.lines || AreLines(plan, loops));
  }
  OrderRepetitions(plan, loops, total_bytes, machine);
  Repeat(plan, loops, plan.realigns ? kRunsBytes : kRepeatBytes);
  plan.outer = loops;
  return true;
}

// Shorter columns are better transposed than taken apart each by itself.
constexpr int64_t kColumnApart = 1 << 10;

// Whether `copy` takes few columns apart, each by itself.
bool TakesFewApart(const ByteCopy& copy, const Machine& machine) {
  if (copy.loops.empty()) return false;
  const auto few = std::ranges::find(copy.loops, copy.item, &Loop::src_stride);
  const Loop items = copy.loops.back();
  return few != copy.loops.end() && items.dst_stride == copy.item &&
         items.src_stride == few->extent * copy.item &&
         items.extent * copy.item >= kColumnApart &&
         AreTakenApart(copy.item, few->extent, machine);
}

}  // namespace

bool IsCompact(const ByteCopy& copy) {
  if (copy.item > kCompactItem || copy.loops.empty()) return false;
  const Loop items = copy.loops.back();
  return items.dst_stride == copy.item && items.src_stride <= kLineBytes &&
         items.extent * copy.item >= kLineBytes &&
         std::ranges::none_of(copy.loops, [&](const Loop& loop) {
           return loop.src_stride == copy.item;
         });
}

BlockPlan PlanBlocks(const ByteCopy& copy, std::span<const int64_t> columns,
                     int64_t total_bytes, const Machine& machine) {
  BlockPlan plan;
  plan.item = copy.item;
  plan.columns = columns;
  Loops loops = copy.loops;
  if (!columns.empty()) {
    // A loop of no length, for what the columns stand for.
    loops.push_back({static_cast<int64_t>(columns.size()), copy.item, 0});
  } else if (PlanShuffle(plan, copy, total_bytes, machine)) {
    return plan;
  }
  const auto a = Find(loops, &Loop::dst_stride, copy.item);
  const auto b = Find(loops, &Loop::src_stride, copy.item);
  if (!IsTransposable(copy.item) || !a || !b) {
    columns.empty() && (IsCompact(copy) || TakesFewApart(copy, machine))
        ? PlanCompact(plan, loops, total_bytes, machine)
        : PlanRows(plan, loops, total_bytes, machine);
    return plan;
  }
  plan.a.step = plan.b.step = copy.item;
  Append(plan.a, loops[*a]);
  Append(plan.b, loops[*b]);
  Take(loops, std::max(*a, *b));
  Take(loops, std::min(*a, *b));
  if (!PlanTiles(plan, loops, total_bytes, machine) &&
      !PlanInterleave(plan, loops, total_bytes, machine) &&
      !PlanTogether(plan, loops))
    PlanTranspose(plan, loops, total_bytes, machine);
  return plan;
}

bool AreInterleaved(int64_t item, int64_t few, int64_t many) {
  return item <= 8 && few <= kMostInterleaved && many * item >= kLineBytes / 2;
}

bool AreTakenApart(int64_t item, int64_t few, const Machine& machine) {
  return machine.LooksUp() && IsPadded(item) && few <= kMostInterleaved;
}

BlockPlan PlanMatrix(int64_t item, int64_t num_a, int64_t num_b) {
  BlockPlan plan;
  plan.kernel = AreInterleaved(item, num_a, num_b)   ? Kernel::kInterleave
                : AreInterleaved(item, num_b, num_a) ? Kernel::kDeinterleave
                                                     : Kernel::kTranspose;
  plan.item = plan.a.step = plan.b.step = item;
  Append(plan.a, {num_a, num_b * item, item});
  Append(plan.b, {num_b, item, num_a * item});
  return plan;
}

}  // namespace axis
