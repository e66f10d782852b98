#include "kernels/copy/plan/block_plan.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "kernels/copy/block.h"
#include "kernels/copy/plan/shuffle.h"
#include "kernels/copy/plan/side.h"
#include "kernels/copy/plan/spacing.h"
#include "kernels/copy/plan/transpose_plan.h"

namespace axis {
namespace {

constexpr int64_t kPage = 4096;

// Rows are no trouble for a cache, so that there may be more of them.
constexpr int64_t kRowBytes = 64 << 10;

// Rows of tiles past the caches are read whole up to this length: whatever is
// left of one is a few columns in a block of their own, up to twice as slow.
constexpr int64_t kWholeRow = 12 << 10;

// Blocks that are put together in scratch are at most so large, that they fit
// with two lines of room for each of their columns, of kLongItem or more.
constexpr int64_t kStagedBlock = 512 << 10;

// So much of runs that follow one another is moved in one go. A block holds at
// most a quarter of it, for the place of each run is written down first; more
// are its repetitions.
constexpr int64_t kRunsBytes = 256 << 10;

// Runs that are streamed in the order of the destination are asked for so many
// bytes ahead.
constexpr int64_t kRunsAhead = 3 << 10;

// Rows compete if no more than so many of them have places in the first cache;
// half as many if the plan is to bring them together.
constexpr int64_t kFewPlaces = 64;

// Where they compete past the caches, blocks of them are read to scratch first,
// and are so large.
constexpr int64_t kFetchedRows = 256, kFetchedBytes = 256;

// How many bytes of a row a block of rows reads. Past the caches, longer items
// gain from more of them where rows are cut.
int64_t RowBytes(const BlockPlan& plan) {
  if (plan.fetch) return kFetchedBytes;
  if (!plan.stream) return std::max<int64_t>(2048, kRowBytes / plan.a.block);
  const int64_t row = plan.b.extent * plan.item;
  const int64_t part = plan.item < 4 * kLineBytes ? 1024 : 2048;
  const int64_t bytes = row <= kWholeRow ? kWholeRow : part;
  return plan.stage ? std::min(bytes, kStagedBlock / plan.a.block) : bytes;
}

// Cuts the rows of tiles of items that are shorter than lines, so that they
// find their lines in the first cache until all of their items are moved. With
// lookups that gains up to half a line.
void KeepLines(BlockPlan& plan, const Machine& machine) {
  const int64_t most = machine.LooksUp() ? kLineBytes / 2 : kLineBytes - 1;
  const int64_t row = plan.b.extent * plan.item;
  if (plan.item > most || !plan.columns.empty() || row < kLongRow) return;
  const int64_t places = PlacesFor(plan.a.loops[0].src_stride, machine);
  plan.fetch = plan.stream && places <= kFewPlaces / 2;
  if (plan.fetch) {
    plan.a.block = std::min(plan.a.block, kFetchedRows);
  } else if (!plan.stream && places <= kFewPlaces && !IsPadded(plan.item)) {
    plan.a.block = std::min(plan.a.block, places);
  }
}

// Copies of runs that are no business of registers: one after the other.
void PlanRows(BlockPlan& plan, Loops& loops, int64_t total_bytes,
              const Machine& machine) {
  plan.kernel = Kernel::kRows;
  std::optional<size_t> b;
  if (!plan.columns.empty()) {
    b = loops.size() - 1;
  } else if (plan.item < kLongItem) {
    b = Find(loops, &Loop::src_stride, plan.item);
  }
  if (b) {
    plan.b.step = plan.item;
    Append(plan.b, Take(loops, *b));
  }
  // Runs of whole lines depend on nothing around them in the destination, so
  // that the source can be read from end to end.
  const bool stream_rows =
      plan.item < kLongItem     ? machine.StreamsShortRuns(total_bytes)
      : plan.item < kLibraryRun ? machine.StreamsLongRuns(total_bytes)
                                : machine.StreamsLibraryRuns(total_bytes);
  const bool items_are_lines = plan.item % kLineBytes == 0;
  if (stream_rows && !b && items_are_lines)
    std::sort(loops.begin(), loops.end(), ReadsFarther);
  if (!loops.empty()) {
    // Neighbours in the destination; if there are none, the nearest.
    plan.a.step = loops.back().dst_stride;
    Append(plan.a, Take(loops, loops.size() - 1));
  }
  const bool tiles = b && plan.a.step == plan.item;
  // Single lines that lie apart gain nothing past a far L3.
  const bool stream_tiles =
      (plan.item < kLineBytes ? machine.StreamsTiles(total_bytes)
                              : machine.StreamsTilesOfLines(total_bytes)) ||
      (items_are_lines && plan.item > kLineBytes &&
       machine.StreamsLines(total_bytes));
  plan.stream = tiles ? stream_tiles : stream_rows;
  if (plan.stream && plan.item < kLongItem) {
    // Lines are whole only if the items are, or put together first.
    plan.lines = items_are_lines && plan.a.step % kLineBytes == 0 &&
                 AreLines(plan, loops);
    plan.stage =
        plan.a.step == plan.item && plan.a.extent * plan.item >= kLongItem;
    plan.stream = plan.stage || plan.lines;
  }
  // The machine foresees the lines of columns and of long runs.
  const bool jumps =
      plan.stream ? tiles
                  : !b && plan.item < kPage && total_bytes >= machine.l3 / 4;
  if (plan.columns.empty() && jumps) plan.lead = kMaxOffsets;
  if (plan.stream && !b && !items_are_lines && plan.item < kPage)
    plan.lead = 1 + kRunsAhead / plan.item;
  const int64_t a_bytes = !tiles ? kRunsBytes / 4 : plan.stream ? 2048 : 4096;
  if (plan.a.step == plan.item)
    Grow(plan.a, &Loop::dst_stride, plan.item, a_bytes, loops);
  Cut(plan.a, plan.item, a_bytes);
  if (tiles) KeepLines(plan, machine);
  Cut(plan.b, plan.item, RowBytes(plan));
  Repeat(plan, loops, plan.fetch ? 1 : tiles ? kRepeatBytes : kRunsBytes);
  plan.outer = loops;
}

// Short items that are brought together.
void PlanCompact(BlockPlan& plan, Loops& loops, int64_t total_bytes,
                 const Machine& machine) {
  const int64_t item = plan.item;
  plan.kernel = Kernel::kCompact;
  plan.a.step = item;
  Append(plan.a, Take(loops, loops.size() - 1));
  plan.stream = plan.stage = machine.StreamsShortRuns(total_bytes) &&
                             plan.a.extent * item >= kLongItem;
  // Whole lines; nobody looks up where so many items are.
  const int64_t bytes = plan.stage ? 2 * kRepeatBytes : 4 * kRowBytes;
  plan.a.block =
      std::min(plan.a.extent, bytes / item / kLineBytes * kLineBytes);
  Repeat(plan, loops, kRepeatBytes);
  plan.outer = loops;
}

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
        machine.StreamsInterleaved(total_bytes) ||
        ((plan.lines || plan.realigns) && machine.StreamsLines(total_bytes));
    plan.realigns = plan.realigns && plan.stream;
    if (plan.realigns) {
      plan.b.block = std::min(plan.b.extent, kRunsBytes / plan.a.extent / item /
                                                 kLineBytes * kLineBytes);
    } else if (plan.stream) {
      Cut(plan.b, item, kPage);
      // Of few long rows the lines to come are easily told.
      plan.lead = kMaxOffsets;
    }
  } else if ((AreInterleaved(item, plan.b.extent, plan.a.extent) ||
              AreShortColumns(plan, loops, total_bytes, machine)) &&
             plan.a.loops[0].src_stride == plan.b.extent * item) {
    plan.kernel = Kernel::kDeinterleave;
    plan.stream = machine.StreamsDeinterleaved(total_bytes);
    if (plan.stream) Cut(plan.a, item, kPage);
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
    columns.empty() && IsCompact(copy)
        ? PlanCompact(plan, loops, total_bytes, machine)
        : PlanRows(plan, loops, total_bytes, machine);
    return plan;
  }
  plan.a.step = plan.b.step = copy.item;
  Append(plan.a, loops[*a]);
  Append(plan.b, loops[*b]);
  Take(loops, std::max(*a, *b));
  Take(loops, std::min(*a, *b));
  if (!PlanInterleave(plan, loops, total_bytes, machine) &&
      !PlanTogether(plan, loops))
    PlanTranspose(plan, loops, total_bytes, machine);
  return plan;
}

bool AreInterleaved(int64_t item, int64_t few, int64_t many) {
  return item <= 8 && few <= kMostInterleaved && many * item >= kLineBytes / 2;
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
