#include "kernels/copy/plan/rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/copy/block.h"
#include "kernels/copy/plan/block_plan.h"
#include "kernels/copy/plan/side.h"
#include "kernels/copy/plan/spacing.h"

namespace axis {
namespace {

// Rows are no trouble for a cache, so that there may be more of them.
constexpr int64_t kRowBytes = 64 << 10;

// Rows of tiles past the caches are read whole up to this length: whatever is
// left of one is a few columns in a block of their own, up to twice as slow.
constexpr int64_t kWholeRow = 12 << 10;

// So few long rows a core reads side by side as fast as one.
constexpr int64_t kFewLongRows = 12;

// Blocks that are put together in scratch are at most so large, that they fit
// with two lines of room for each of their columns, of kLongItem or more.
constexpr int64_t kStagedBlock = 512 << 10;

// Runs that are streamed in the order of the destination are asked for so many
// bytes ahead.
constexpr int64_t kRunsAhead = 3 << 10;

// Shorter items are not realigned, in tiles and where they are far apart.
constexpr int64_t kRealignedTile = 112, kRealignedRow = 20;

// Of tiles that are realigned, columns up to here are written whole.
constexpr int64_t kRealignedColumn = 8 << 10;

// Longer columns of tiles have a rest that does not show.
constexpr int64_t kEvenColumn = 16 << 10;

// Short items that are brought together are, if they lie no farther apart.
constexpr int64_t kRealignedStep = 16;

// Rows compete if no more than so many of them have places in the first cache;
// half as many if the plan is to bring them together, or a quarter with
// lookups.
constexpr int64_t kFewPlaces = 64;

// Where they compete past the caches, blocks of them are read to scratch first,
// and are so large.
constexpr int64_t kFetchedRows = 256, kFetchedBytes = 256;

// What goes by rows is cut so large. Without lookups columns a multiple of half
// a way apart compete for places, but items from kByRowsItem on suffer less by
// that than they gain. With lookups items gain from kByRowsLookedUp on, those
// shorter than lines of so many rows.
constexpr int64_t kByRowsBytes = 64 << 10, kByRowsItem = 256;
constexpr int64_t kByRowsLookedUp = 36, kByRowsMany = 128;

// How many bytes of a row a block of rows reads. Past the caches, longer items
// gain from more of them where rows are cut.
int64_t RowBytes(const BlockPlan& plan) {
  if (plan.fetch) return kFetchedBytes;
  if (plan.by_rows) return kByRowsBytes;
  if (!plan.stream) return std::max<int64_t>(2048, kRowBytes / plan.a.block);
  const int64_t row = plan.b.extent * plan.item;
  const int64_t part = plan.item < 4 * kLineBytes ? 1024 : 2048;
  const int64_t bytes = row <= kWholeRow ? kWholeRow : part;
  return plan.stage ? std::min(bytes, kStagedBlock / plan.a.block) : bytes;
}

// Cuts the rows of tiles of items that are shorter than lines, so that they
// find their lines in the first cache until all of their items are moved. With
// lookups those of pixels gain nothing, of which several are read at a time.
void KeepLines(BlockPlan& plan, const Machine& machine) {
  const int64_t row = plan.b.extent * plan.item;
  if (plan.item >= kLineBytes || !plan.columns.empty() || row < kLongRow ||
      (machine.LooksUp() && IsPadded(plan.item)))
    return;
  const int64_t places = PlacesFor(plan.a.loops[0].src_stride, machine);
  plan.fetch = plan.stream &&
               places <= (machine.LooksUp() ? kFewPlaces / 4 : kFewPlaces / 2);
  if (plan.fetch) {
    plan.a.block = std::min(plan.a.block, kFetchedRows);
  } else if (!plan.stream && places <= kFewPlaces && !IsPadded(plan.item)) {
    plan.a.block = std::min(plan.a.block, places);
  }
}

// Whether the items of tiles are best moved in the order of the source: once
// the second cache does not hold both sides, a core foresees one stream that
// it reads better than where it writes matters. Not if rows are few, which it
// foresees as well, or few beside columns that hardly go on; nor if the lines
// of columns evict each other before the next row goes on with them.
bool GoesByRows(const BlockPlan& plan, int64_t total_bytes,
                const Machine& machine) {
  const int64_t rows = plan.a.extent, columns = plan.b.extent;
  if (plan.stream || total_bytes < machine.l2 / 2 || !plan.columns.empty() ||
      rows <= 8)
    return false;
  const int64_t column = plan.b.loops[0].dst_stride;
  if (!machine.LooksUp())
    return plan.item >= kLineBytes / 2 && 16 * rows >= columns &&
           (plan.item >= kByRowsItem || column % (machine.l1_way / 2) != 0);
  if (PlacesFor(column, machine) < std::min(columns, kFewPlaces)) return false;
  if (plan.item < kLineBytes)
    return plan.item >= kByRowsLookedUp && rows >= kByRowsMany;
  return plan.item >= kByRowsItem || 4 * rows >= columns;
}

// Whether the source comes in as few streams, which a core foresees, and goes
// out as few: to put lines together in scratch would cost more than streaming
// them gains. Measured without lookups only.
bool AreForeseen(const BlockPlan& plan, const Machine& machine) {
  const bool few_long_rows =
      plan.a.extent <= kFewLongRows && plan.b.extent * plan.item > kWholeRow;
  return !machine.LooksUp() && (!plan.columns.empty() || few_long_rows);
}

}  // namespace

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
  const bool stream_rows = plan.item < kLongItem
                               ? machine.StreamsShortRuns(total_bytes)
                               : machine.StreamsLongRuns(total_bytes);
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
    plan.stage = plan.a.step == plan.item &&
                 plan.a.extent * plan.item >= kLongItem &&
                 !AreForeseen(plan, machine);
    plan.realigns = plan.stage && !plan.lines && machine.LooksUp() &&
                    plan.item >= (tiles ? kRealignedTile : kRealignedRow);
    plan.stream = plan.stage || plan.lines;
  }
  // The machine foresees the lines of columns and of long runs; one without
  // lookups, of all runs that go through its caches.
  const bool jumps = plan.stream
                         ? tiles
                         : machine.LooksUp() && !b && plan.item < kPage &&
                               total_bytes >= machine.l3 / 4;
  if (plan.columns.empty() && jumps) plan.lead = kMaxOffsets;
  if (plan.stream && !b && !items_are_lines && plan.item < kPage)
    plan.lead = 1 + kRunsAhead / plan.item;
  plan.by_rows = tiles && GoesByRows(plan, total_bytes, machine);
  const int64_t column = plan.a.extent * plan.item;
  const bool whole = plan.realigns && column <= kRealignedColumn;
  const int64_t a_bytes = !tiles         ? kRunsBytes / 4
                          : plan.by_rows ? kByRowsBytes
                          : !plan.stream ? 4096
                          : whole        ? std::max<int64_t>(column, 2048)
                                         : 2048;
  if (plan.a.step == plan.item)
    Grow(plan.a, &Loop::dst_stride, plan.item, a_bytes, loops);
  Cut(plan.a, plan.item, a_bytes);
  // While a rest is written, next to nothing of the block after it is asked
  // for.
  if (tiles && plan.stage && column < kEvenColumn)
    plan.a.block = column < 2 * a_bytes && plan.a.extent <= kMaxOffsets
                       ? plan.a.extent
                       : EqualPart(plan.a.extent, plan.a.block);
  if (tiles && !plan.by_rows) KeepLines(plan, machine);
  Cut(plan.b, plan.item, RowBytes(plan));
  Repeat(plan, loops, plan.fetch ? 1 : tiles ? kRepeatBytes : kRunsBytes);
  plan.outer = loops;
}

void PlanCompact(BlockPlan& plan, Loops& loops, int64_t total_bytes,
                 const Machine& machine) {
  const int64_t item = plan.item;
  plan.kernel = Kernel::kCompact;
  plan.a.step = item;
  Append(plan.a, Take(loops, loops.size() - 1));
  plan.realigns =
      machine.LooksUp() && plan.a.loops[0].src_stride <= kRealignedStep * item;
  // Where nobody looks up, to go by way of scratch costs more than streaming
  // gains.
  plan.stream = plan.stage =
      machine.LooksUp() && plan.a.extent * item >= kLongItem &&
      (machine.StreamsShortRuns(total_bytes) ||
       (plan.realigns && machine.StreamsInterleaved(total_bytes)));
  plan.realigns = plan.realigns && plan.stage;
  // Whole lines; nobody looks up where so many items are.
  int64_t bytes = plan.stage ? 2 * kRepeatBytes : 4 * kRowBytes;
  const auto few = Find(loops, &Loop::src_stride, item);
  if (few) {
    // All columns of a block read it while it is in the first cache.
    plan.batch = Take(loops, *few);
    plan.batch_block = plan.batch.extent;
    bytes = kRepeatBytes / plan.batch.extent;
  }
  plan.a.block =
      std::min(plan.a.extent, bytes / item / kLineBytes * kLineBytes);
  if (!few) Repeat(plan, loops, kRepeatBytes);
  plan.outer = loops;
}

}  // namespace axis
