#include "kernels/copy/block_plan.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "kernels/copy/block.h"
#include "kernels/copy/block/shuffle.h"
#include "kernels/copy/block/side.h"

namespace axis {
namespace {

// A vector register block: what a transposition takes of a row at a time.
constexpr int64_t kPiece = 16;

constexpr int64_t kPage = 4096;

// So many runs are written past the caches side by side.
constexpr int64_t kStreamColumns = 32;

// So many rows ahead the source is prefetched where few columns are swept.
constexpr int64_t kSweepLead = 16;

// Runs this long are as well read in any order.
constexpr int64_t kLongItem = 512;

// Short repetitions are moved together until they make half of a first cache.
constexpr int64_t kRepeatBytes = 16 << 10;

// More of them where columns spill over: the last ones of a block take longer,
// for what follows them is not theirs.
constexpr int64_t kSpillBytes = 256 << 10;

// Rows are no trouble for a cache, so that there may be more of them.
constexpr int64_t kRowBytes = 64 << 10;

bool IsTransposable(int64_t item) {
  return item <= kPiece && (item & (item - 1)) == 0;
}

// Blocks repeat along the innermost loop left, as many as make `bytes`.
void Repeat(BlockPlan& plan, Loops& loops, int64_t bytes) {
  if (loops.empty()) return;
  plan.batch = Take(loops, loops.size() - 1);
  const int64_t block = plan.item * plan.a.block * plan.b.block;
  plan.batch_block = std::clamp<int64_t>(bytes / block, 1, plan.batch.extent);
}

// Whether what `loop` repeats starts at a line whenever it does so once.
bool KeepsLines(const Loop& loop) { return loop.dst_stride % kLineBytes == 0; }

// Whether `x` steps farther than `y`. Blocks that are close together on both
// sides share lines and pages.
bool IsWider(const Loop& x, const Loop& y) {
  return x.src_stride + x.dst_stride > y.src_stride + y.dst_stride;
}

// Whether all columns start at a line, in all blocks.
bool AreLines(const BlockPlan& plan, std::span<const Loop> outer) {
  return std::ranges::all_of(
             plan.columns,
             [](int64_t column) { return column % kLineBytes == 0; }) &&
         std::ranges::all_of(outer, KeepsLines) &&
         std::ranges::all_of(plan.b.loops.begin(),
                             plan.b.loops.begin() + plan.b.num_loops,
                             KeepsLines);
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
  if (stream_rows && !b && plan.item % kLineBytes == 0)
    std::sort(loops.begin(), loops.end(), [](const Loop& x, const Loop& y) {
      return x.src_stride > y.src_stride;
    });
  if (!loops.empty()) {
    // Neighbours in the destination; if there are none, the nearest.
    plan.a.step = loops.back().dst_stride;
    Append(plan.a, Take(loops, loops.size() - 1));
  }
  const bool tiles = b && plan.a.step == plan.item;
  plan.stream = tiles ? machine.StreamsTiles(total_bytes) : stream_rows;
  if (plan.stream && plan.item < kLongItem) {
    // Lines are whole only if the items are, or put together first.
    plan.lines = plan.item % kLineBytes == 0 && plan.a.step % kLineBytes == 0 &&
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
  const int64_t a_bytes = !tiles ? 64 << 10 : plan.stream ? 2048 : 4096;
  if (plan.a.step == plan.item)
    Grow(plan.a, &Loop::dst_stride, plan.item, a_bytes, loops);
  Cut(plan.a, plan.item, a_bytes);
  Cut(plan.b, plan.item,
      plan.stream ? 1024 : std::max<int64_t>(2048, kRowBytes / plan.a.block));
  Repeat(plan, loops, kRepeatBytes);
  plan.outer = loops;
}

// Few items on one side, all of them next to each other: whole vectors are
// interleaved or taken apart. False if `plan` is not like that. Nobody looks up
// where the many items are, so that there may be any number in a block.
bool PlanInterleave(BlockPlan& plan, Loops& loops, int64_t total_bytes,
                    const Machine& machine) {
  const int64_t item = plan.item, many = kLineBytes / 2 / item;
  if (item > 8) return false;
  if (plan.columns.empty() && plan.a.extent <= 4 && plan.b.extent >= many &&
      plan.b.loops[0].dst_stride == plan.a.extent * item) {
    plan.kernel = Kernel::kInterleave;
    plan.stream = machine.StreamsInterleaved(total_bytes);
    plan.lines = std::ranges::all_of(loops, KeepsLines);
    if (plan.stream) Cut(plan.b, item, kPage);
    // Of few long rows the lines to come are easily told.
    if (plan.stream) plan.lead = kMaxOffsets;
  } else if (plan.b.extent <= 4 && plan.a.extent >= many &&
             plan.a.loops[0].src_stride == plan.b.extent * item) {
    plan.kernel = Kernel::kDeinterleave;
    plan.stream = machine.StreamsDeinterleaved(total_bytes);
    if (plan.stream) Cut(plan.a, item, kPage);
  } else {
    return false;
  }
  plan.stage = plan.stream;
  if (!machine.LooksUp()) {
    // Vectors take so long then that going by way of scratch costs more than
    // streaming gains: lines are streamed at once, or nothing is.
    plan.stage = false;
    plan.lead = 0;
    plan.stream = plan.stream && (plan.lines || AreLines(plan, loops));
  }
  // Rows that are no longer than lines are best read one line after the other.
  if (std::max(plan.a.extent, plan.b.extent) * item <= kLineBytes)
    std::sort(loops.begin(), loops.end(), IsWider);
  Repeat(plan, loops, kRepeatBytes);
  plan.outer = loops;
  return true;
}

// Blocks of `a_bytes` times `b_bytes` are read in runs of b_bytes and written
// in runs of a_bytes. What is best was measured; see tests/bench.
void PlanTranspose(BlockPlan& plan, Loops& loops, int64_t total_bytes,
                   const Machine& machine) {
  plan.kernel = Kernel::kTranspose;
  const bool stream = machine.StreamsTiles(total_bytes);
  const int64_t item = plan.item;
  const int64_t conflict = machine.l1_way;
  const int64_t src_stride = plan.a.loops[0].src_stride;
  const int64_t dst_stride =
      plan.columns.empty() ? plan.b.loops[0].dst_stride : plan.columns[1];
  const bool src_conflicts = src_stride % conflict == 0;
  const bool dst_conflicts = dst_stride % (conflict / 2) == 0;
  // Whether a store writes a line. Measured with lookups and with AVX2 only.
  const bool wide = machine.LooksUp();
  // Whether rows compete in the first cache, but not in the second.
  const bool rows_compete = stream && !wide && src_conflicts &&
                            src_stride <= 4 * conflict &&
                            (item == 4 || item == 8);
  // In cache, columns that compete are kept few where stores are wide. Where
  // they are not, long rows are worth more, and scratch nothing.
  int64_t a_bytes = 512;
  int64_t b_bytes = dst_conflicts && wide ? kLineBytes : 512;
  if (stream) {
    plan.stage = plan.stream = true;
    plan.lead = kMaxOffsets;
    // Columns that compete are better streamed in long runs, but where stores
    // are wide, or rows compete as well.
    const bool aligned = dst_stride % kLineBytes == 0;
    const bool competes =
        dst_stride % (conflict * std::min<int64_t>(item, 4) / 8) == 0;
    plan.lines = aligned && (wide || rows_compete || !competes);
    // Larger blocks would evict what is prefetched before its turn; those of
    // short rows without gaps are small.
    const bool no_gaps = src_stride == plan.b.extent * item;
    const bool is_small = no_gaps && plan.b.extent <= kStreamColumns / 2;
    const bool short_runs = item < 8 && (src_conflicts || (aligned && !wide));
    a_bytes = is_small ? 2048 : short_runs ? 512 : 1024;
    if (no_gaps && plan.b.extent <= 2 * kStreamColumns && !plan.lines &&
        !wide) {
      // Columns that are not lines are best streamed in longer runs then, a few
      // of them swept side by side through the caches.
      a_bytes = 4096;
      if (is_small && dst_stride % kLineBytes != 0) {
        plan.stage = plan.stream = false;
        plan.lead = kSweepLead;
      }
    }
    const bool narrow_runs = wide && plan.lines && !src_conflicts;
    b_bytes = item >= 8     ? 512
              : narrow_runs ? std::max(kLineBytes, kStreamColumns * item)
                            : 256;
  } else if (src_conflicts && dst_stride % conflict == 0 &&
             total_bytes >= machine.l2 && wide) {
    plan.stage = true;
    b_bytes = 256;
  }
  plan.fetch =
      item <= (wide ? 1 : 2) && src_conflicts && total_bytes >= machine.l2;
  if (plan.fetch) a_bytes = b_bytes = 512;
  Grow(plan.a, &Loop::dst_stride, item, std::max(a_bytes, kLongItem), loops);
  const int64_t run = plan.a.extent * item;
  const bool is_short = run < 256;
  const bool packed = plan.columns.empty() && plan.b.loops[0].dst_stride == run;
  const bool spills = packed && run <= kSpillRun && !plan.fetch;
  // What spills is written in one go; else a few KiB of the destination again.
  if (spills) {
    b_bytes = 4096;
  } else if (stream && is_short) {
    b_bytes = 512;
  }
  // What fits a few vectors is best left alone.
  const bool alone = packed && plan.b.extent * item >= kPiece &&
                     FitsVectors(plan.a.extent, plan.b.extent, item);
  if (plan.columns.empty() && !alone && !spills)
    Grow(plan.b, &Loop::src_stride, item, b_bytes, loops);
  Cut(plan.a, item, a_bytes);
  Cut(plan.b, item, b_bytes);
  std::sort(loops.begin(), loops.end(), IsWider);
  plan.lines = plan.lines && AreLines(plan, loops);
  // What is prefetched of rows that compete is evicted before its turn.
  if (plan.lines && rows_compete) plan.lead = 0;
  // Lines that are eighths of a page apart wait for each other: better a few
  // columns and several lines of each, if what is left of the rows stays.
  const bool rows_stay = !src_conflicts || rows_compete || plan.fetch;
  if (!wide && rows_stay && dst_stride % (conflict / 8) == 0 &&
      (stream ? plan.lines && item <= 8
              : item == 4 && total_bytes >= machine.l2))
    plan.breadth = kLineBytes / item;
  // Short runs gain nothing from being put together; lines need not be.
  if (is_short) {
    plan.stage = false;
    plan.stream = plan.stream && plan.lines && run % kLineBytes == 0;
    if (!plan.stream) plan.lead = 0;
  }
  Repeat(plan, loops, plan.fetch ? 1 : spills ? kSpillBytes : kRepeatBytes);
  plan.outer = loops;
}

}  // namespace

BlockPlan PlanBlocks(const ByteCopy& copy, std::span<const int64_t> columns,
                     int64_t total_bytes, const Machine& machine) {
  BlockPlan plan;
  plan.item = copy.item;
  plan.columns = columns;
  Loops loops = copy.loops;
  if (!columns.empty()) {
    // A loop of no length, for what the columns stand for.
    loops.push_back({static_cast<int64_t>(columns.size()), copy.item, 0});
  } else if (const auto shuffle = FindShuffle(copy, machine.shuffle)) {
    plan.kernel = Kernel::kShuffle;
    plan.item = shuffle->run;
    FillShuffle(copy, *shuffle, plan.shuffle);
    loops.resize(shuffle->num_outer);
    plan.batch = Take(loops, loops.size() - 1);
    plan.batch_block = plan.batch.extent;
    plan.outer = loops;
    return plan;
  }
  const auto a = Find(loops, &Loop::dst_stride, copy.item);
  const auto b = Find(loops, &Loop::src_stride, copy.item);
  if (!IsTransposable(copy.item) || !a || !b) {
    PlanRows(plan, loops, total_bytes, machine);
    return plan;
  }
  plan.a.step = plan.b.step = copy.item;
  Append(plan.a, loops[*a]);
  Append(plan.b, loops[*b]);
  Take(loops, std::max(*a, *b));
  Take(loops, std::min(*a, *b));
  if (!PlanInterleave(plan, loops, total_bytes, machine))
    PlanTranspose(plan, loops, total_bytes, machine);
  return plan;
}

}  // namespace axis
