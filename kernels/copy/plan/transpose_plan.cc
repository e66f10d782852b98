#include "kernels/copy/plan/transpose_plan.h"

#include <algorithm>

#include "kernels/copy/block.h"
#include "kernels/copy/plan/spacing.h"

namespace axis {
namespace {

// So many runs are written past the caches side by side.
constexpr int64_t kStreamColumns = 32;

// So many rows ahead the source is prefetched where few columns are swept.
constexpr int64_t kSweepLead = 16;

// Scratch has room for as many runs as a block has columns, of so many bytes
// for each byte of items of 1 or 2.
constexpr int64_t kWholeBytes = 2 << 10;

// Blocks of columns that are put together in registers leave room in scratch,
// by way of which they go where the destination begins inside an item.
constexpr int64_t kRealignedBytes = 4 << 10;
constexpr int64_t kRealignedColumns = 128;

// Blocks that are fetched are at most so large, that they fit scratch with a
// line of room for each of their rows.
constexpr int64_t kFetchedBlock = 192 << 10;

// More repetitions are moved together where columns spill over: the last ones
// of a block take longer, for what follows them is not theirs.
constexpr int64_t kSpillBytes = 256 << 10;

// Past the caches, blocks of so many bytes were fastest where a store does not
// write a line: columns of runs from a quarter of the most to that, and rows
// that follow one another read whole.
constexpr int64_t kStreamedBlock = 64 << 10;
constexpr int64_t kStreamedRun = 1 << 10;
constexpr int64_t kStreamedRow = 4 << 10;

// How long the runs of blocks are.
struct Runs {
  int64_t a_bytes;  // written
  int64_t b_bytes;  // read
};

// Past the caches. Larger blocks would evict what is prefetched before its
// turn; those of short rows without gaps are small.
Runs PlanStreamed(BlockPlan& plan, const Spacing& spacing, bool no_gaps) {
  const int64_t item = spacing.item;
  plan.stage = plan.stream = true;
  plan.lead = kMaxOffsets;
  // Columns that compete are better streamed in long runs, but where stores are
  // wide, or rows compete as well.
  const bool columns_compete =
      spacing.column % (spacing.way * std::min<int64_t>(item, 4) / 8) == 0;
  plan.lines = spacing.ColumnsAreLines() &&
               (spacing.wide || spacing.RowsStayNear() || !columns_compete);
  const bool is_small = no_gaps && plan.b.extent <= kStreamColumns / 2;
  if (!spacing.wide) {
    // A few columns that are not lines are best swept side by side through the
    // caches.
    if (is_small && !spacing.ColumnsAreLines()) {
      plan.stage = plan.stream = false;
      plan.lead = kSweepLead;
      return {4096, kLongRow};
    }
    const bool short_runs =
        item < 8 && (spacing.RowsCompete() || spacing.ColumnsAreLines());
    return {short_runs ? 512 : 1024, kLongRow};
  }
  const bool narrow_runs = plan.lines && !spacing.RowsCompete();
  const int64_t b_bytes =
      item >= 8 ? 512
                : (narrow_runs ? std::max(kLineBytes, kStreamColumns * item)
                               : kLongRow);
  const bool short_runs = item < 8 && spacing.RowsCompete();
  return {is_small ? 2048 : short_runs ? 512 : 1024, b_bytes};
}

// In cache, columns that compete are kept few where stores are wide. Where they
// are not, long rows are worth more.
Runs PlanCached(const Spacing& spacing) {
  const bool few = spacing.wide && spacing.ColumnsCompete();
  return {512, few ? kLineBytes : 512};
}

// Of squares, only what is short is worth prefetching. Columns that compete are
// taken to their end, a line's items side by side, unless pages compete as
// well.
Runs PlanSquares(BlockPlan& plan, const Spacing& spacing, bool stream) {
  const int64_t item = spacing.item;
  plan.squares = Square::kWhole;
  plan.fetch = false;
  const bool is_short = plan.a.extent * item < kLongRow;
  const bool evict_each_other = spacing.row % (16 * spacing.way) == 0;
  if (spacing.row > kLongRow && (!is_short || evict_each_other)) plan.lead = 0;
  if (item >= 4 && spacing.ColumnsCompete() && !spacing.PagesCompete())
    plan.breadth = (item == 8 && !stream ? 2 : 1) * kLineBytes / item;
  return {1024, item == 1 ? 512 : 1024};
}

// Lines past the caches in pairs. Whoever reads from far away reads rows as
// fast one line at a time, and foresees them by himself. Squares of bytes take
// so many shuffles that they gain only where rows compete, and the last one of
// short rows takes in much of the one before.
Runs PlanPairs(BlockPlan& plan, const Spacing& spacing) {
  const int64_t item = spacing.item;
  const int64_t a_bytes = plan.a.extent * item, b_bytes = plan.b.extent * item;
  const bool squares = a_bytes >= kLineBytes && b_bytes >= kLineBytes &&
                       (b_bytes % kLineBytes == 0 || b_bytes >= kLongRow) &&
                       (item > 1 || spacing.row % (spacing.way / 8) == 0);
  plan.pairs = true;
  plan.fetch = false;
  plan.lead = 0;
  plan.breadth = kMaxOffsets;
  plan.squares = !squares                              ? Square::kNone
                 : item == 2 && !spacing.RowsCompete() ? Square::kByPiece
                                                       : Square::kWhole;
  if (spacing.RowsCompete()) return {256, 4096};
  return {1024, item == 1 ? 512 : 1024};
}

// Whether rows that compete are better read to scratch first.
bool Fetches(const Spacing& spacing, bool stream) {
  if (!spacing.RowsCompete()) return false;
  if (spacing.item <= (spacing.wide ? 1 : 2)) return true;
  return spacing.item == 4 && !stream && spacing.RowsStayNear() &&
         spacing.ColumnsWait();
}

// In cache, blocks that stay in the first one were fastest.
Runs FetchedRuns(const Spacing& spacing, bool stream) {
  if (spacing.wide) return {512, 512};
  return {stream ? 512 : spacing.item == 4 ? 256 : 128, 256};
}

// How many columns are written side by side. Few only if the rest of their rows
// is still there when its turn comes.
int64_t BreadthOf(const Spacing& spacing, bool stream, bool fetch) {
  const bool rows_stay =
      !spacing.RowsCompete() || fetch || (stream && spacing.RowsStayNear());
  const bool gains = stream ? spacing.item <= 8 : spacing.item == 4;
  if (!spacing.ColumnsWait() || !rows_stay || !gains) return kMaxOffsets;
  return (fetch && !stream ? kLineBytes / 2 : kLineBytes) / spacing.item;
}

// Whether columns follow one another in the destination.
bool ArePacked(const BlockPlan& plan) {
  return plan.columns.empty() &&
         plan.b.loops[0].dst_stride == plan.a.extent * plan.item;
}

// Whether columns are moved as whole vectors, which spill over into the next.
bool Spills(const BlockPlan& plan) {
  return ArePacked(plan) && plan.a.extent * plan.item <= kSpillRun &&
         !plan.fetch;
}

// Whether rows, in lines of their own, are better taken further than they go by
// themselves before columns are: of short ones every line is read over and
// over. Not if columns would then be the shorter side, or rows of vectors no
// longer spill.
bool RowsGoFirst(const BlockPlan& plan, const Spacing& spacing) {
  const int64_t b_bytes = plan.b.extent * plan.item;
  return plan.columns.empty() && spacing.row >= kLineBytes &&
         b_bytes < kLineBytes && plan.b.extent < plan.a.extent &&
         !(b_bytes >= kPiece && Spills(plan));
}

// Short runs gain nothing from being put together, unless only that makes lines
// of them; lines need not be.
void PlanShort(BlockPlan& plan, int64_t run, bool past_caches) {
  const bool lines = run % kLineBytes == 0;
  plan.stage = past_caches && plan.stream && !lines && ArePacked(plan) &&
               !Spills(plan) && plan.b.num_loops == 1 &&
               plan.b.extent * plan.item >= kLongRow;
  plan.stream = plan.stage || (plan.stream && plan.lines && lines);
  if (plan.stage) plan.lead = kMaxOffsets;
  if (!plan.stream) plan.lead = 0;
}

// Cuts what is streamed by way of scratch. A core foresees what it reads from
// end to end, and pages and lines that are written in parts cost more than
// anything else.
void CutStreamed(BlockPlan& plan, bool no_gaps, int64_t a_bytes) {
  const int64_t item = plan.item;
  const bool whole = no_gaps && plan.b.extent * item <= kStreamedRow;
  CutEvenly(plan.b, item, whole ? kStreamedRow : kLongRow, kMaxOffsets);
  if (plan.lines && !whole) return Cut(plan.a, item, a_bytes);
  CutEvenly(
      plan.a, item,
      std::clamp(kStreamedBlock / plan.b.block, kStreamedRun / 4, kStreamedRun),
      kMaxOffsets);
}

}  // namespace

void PlanTranspose(BlockPlan& plan, Loops& loops, int64_t total_bytes,
                   const Machine& machine) {
  plan.kernel = Kernel::kTranspose;
  const Spacing spacing(plan, machine);
  const int64_t item = plan.item;
  const bool no_gaps = spacing.row == plan.b.extent * item;
  const bool in_l2 = total_bytes < machine.l2;
  const bool past_caches =
      machine.StreamsTiles(total_bytes, spacing.ColumnsWait());
  const bool stream = past_caches || machine.StreamsLines(total_bytes);
  Runs runs =
      stream ? PlanStreamed(plan, spacing, no_gaps) : PlanCached(spacing);
  plan.fetch = !in_l2 && Fetches(spacing, stream);
  if (plan.fetch) runs = FetchedRuns(spacing, stream);
  if (!in_l2) plan.breadth = BreadthOf(spacing, stream, plan.fetch);
  const bool in_second = in_l2 && total_bytes > machine.l1;
  if (spacing.AreSquares(stream, in_second) &&
      plan.a.extent * item >= kLineBytes && plan.b.extent * item >= kLineBytes)
    runs = PlanSquares(plan, spacing, stream);
  if (RowsGoFirst(plan, spacing))
    Grow(plan.b, &Loop::src_stride, item, runs.b_bytes, loops);
  const bool squares = plan.squares != Square::kNone;
  const bool staged = plan.stage && !spacing.wide && !plan.fetch;
  // Squares gain from rows of other loops only where runs are short.
  if (staged ? plan.lines : !squares || plan.a.extent * item < kLongRow)
    Grow(plan.a, &Loop::dst_stride, item,
         squares ? 2 * kLongRow : std::max(runs.a_bytes, kLongItem), loops,
         plan.lines && !spacing.wide ? Part::kLines : Part::kAtMost);
  if (staged) {
    plan.lines = plan.lines && AreLines(plan, loops);
    // Rows that follow one another are left to themselves.
    if (!plan.lines && (!no_gaps || plan.a.extent * item < kLongRow))
      Grow(plan.a, &Loop::dst_stride, item, kStreamedRun, loops,
           Part::kNearest);
  }
  const int64_t run = plan.a.extent * item;
  const bool is_short = run < 256;
  const bool spills = Spills(plan);
  // What spills is written in one go; else a few KiB of the destination again.
  if (spills) {
    runs.b_bytes = 4096;
  } else if (stream && is_short) {
    runs.b_bytes = 512;
  }
  // Rows that take less than a vector are taken further, though columns no
  // longer follow one another then.
  if (spills && plan.b.extent * item < 2 * kPiece)
    Grow(plan.b, &Loop::src_stride, item, kApartBytes / plan.a.extent, loops);
  // What fits a few vectors is best left alone.
  const bool alone = ArePacked(plan) && plan.b.extent * item >= kPiece &&
                     FitsVectors(plan.a.extent, plan.b.extent, item);
  if (plan.columns.empty() && !alone && !spills)
    Grow(plan.b, &Loop::src_stride, item, runs.b_bytes, loops,
         staged && !is_short ? Part::kNearest : Part::kAtMost);
  // Runs that begin and end within lines are best written whole.
  if (const int64_t whole = kWholeBytes * std::min<int64_t>(item, 2);
      plan.stage && !plan.lines && run <= whole)
    runs.a_bytes = whole;
  if (stream && spacing.Pairs()) {
    runs = PlanPairs(plan, spacing);
  } else if (stream && spacing.Realigns(run)) {
    plan.realigns = true;
    runs = {kRealignedBytes, kRealignedColumns * item};
  }
  if (staged && !is_short && !spills) {
    CutStreamed(plan, no_gaps, runs.a_bytes);
  } else {
    Cut(plan.a, item, runs.a_bytes);
    if (stream && !spacing.wide) {
      CutEvenly(plan.b, item, runs.b_bytes,
                (plan.fetch ? kFetchedBlock : kStagedBlock) /
                    std::min(run, runs.a_bytes));
    } else {
      Cut(plan.b, item, runs.b_bytes);
    }
  }
  std::sort(loops.begin(), loops.end(), IsWider);
  plan.lines = plan.lines && AreLines(plan, loops);
  plan.carry = plan.stage && plan.stream && plan.a.block < plan.a.extent;
  // What is prefetched of rows that compete is evicted before its turn; from a
  // cache that is far away, and in squares, a core foresees rows by itself.
  if ((plan.lines && spacing.RowsStayNear()) ||
      (spacing.far && (plan.realigns || squares)))
    plan.lead = 0;
  if (is_short) PlanShort(plan, run, past_caches);
  Repeat(plan, loops, plan.fetch ? 1 : spills ? kSpillBytes : kRepeatBytes);
  plan.outer = loops;
}

}  // namespace axis
