#include "kernels/copy/plan/transpose/transpose_runs.h"

#include <algorithm>

#include "kernels/copy/block.h"

namespace axis {
namespace {

// Rows of no more items are few, if nothing lies between them.
constexpr int64_t kFewColumns = 16;

// So many rows ahead the source is prefetched where few columns are swept.
constexpr int64_t kSweepLead = 16;

// Columns up to here end before a core foresees how they go on.
constexpr int64_t kShortColumn = 2 << 10;

// Blocks of columns that are put together in registers leave room in scratch,
// by way of which they go where the destination begins inside an item.
constexpr int64_t kRealignedBytes = 4 << 10;
constexpr int64_t kRealignedColumns = 128;

// Fewer rows than this that compete are read from the second cache as they
// come, and so are twice as many that share two places.
constexpr int64_t kManyRows = 16;

// Of more rows than this it does not show what squares leave of them.
constexpr int64_t kMostWithRest = 512;

// Of rows of so many items it does not show that squares ask for nothing.
constexpr int64_t kFewInSquares = 64;

// Past the caches. Larger blocks would evict what is prefetched before its
// turn; those of short rows without gaps are small.
Runs PlanStreamed(BlockPlan& plan, const Transposition& t) {
  const Spacing& spacing = t.spacing;
  const int64_t item = spacing.item;
  plan.stage = plan.stream = true;
  plan.lead = kMaxOffsets;
  // Columns that compete are better streamed in long runs, but where stores are
  // wide, or rows compete as well.
  const bool columns_compete =
      spacing.column % (spacing.way * std::min<int64_t>(item, 4) / 8) == 0;
  plan.lines = spacing.ColumnsAreLines() &&
               (spacing.wide || spacing.RowsStayNear() || !columns_compete);
  const bool is_small = t.no_gaps && plan.b.extent <= kFewColumns;
  if (!spacing.wide) {
    // A few columns that are not lines are best swept side by side through the
    // caches, unless they end before that is foreseen. Bytes take as many steps
    // as pairs; with less than a piece of each row, scratch gains nothing.
    const int64_t width = std::max<int64_t>(item, 2);
    const bool short_columns = plan.a.extent * width <= kShortColumn &&
                               plan.b.extent * width >= kPiece;
    if (is_small && !short_columns && !spacing.ColumnsAreLines()) {
      plan.stage = plan.stream = false;
      plan.lead = kSweepLead;
      return {4096, kLongRow};
    }
    const bool short_runs =
        item < 8 && (spacing.RowsCompete() || spacing.ColumnsAreLines());
    return {short_runs ? 512 : 1024, kLongRow};
  }
  if (is_small) return {2048, item >= 8 ? 512 : kLongRow};
  if (plan.lines && !spacing.RowsCompete()) {
    const bool short_rows = plan.b.extent * item <= kLineBytes;
    return {short_rows ? 1024 : std::clamp<int64_t>(128 * item, 256, 1024),
            item <= 2 ? 512 : 1024};
  }
  return {item < 8 && spacing.RowsCompete() ? 512 : 1024,
          item >= 8 ? 512 : kLongRow};
}

// In cache, columns that compete are kept few where stores are wide, but not if
// little were left of their rows. Where stores are not, long rows are worth
// more.
Runs PlanCached(const BlockPlan& plan, const Spacing& spacing) {
  const bool few = spacing.wide && spacing.ColumnsCompete() &&
                   plan.b.extent * plan.item > 2 * kLineBytes;
  return {512, few ? kLineBytes : 512};
}

// Whether the lines of as many rows as one of them has items compete.
bool LinesCompete(const Spacing& spacing) {
  return spacing.row % (spacing.item <= 2 ? spacing.way / 2 : spacing.way) == 0;
}

// Of squares, only what is short is worth prefetching, and past a near cache
// what does not compete. Columns that compete are taken to their end, a line's
// items side by side, unless pages compete as well.
Runs PlanSquares(BlockPlan& plan, const Spacing& spacing, bool stream) {
  const int64_t item = spacing.item;
  plan.squares = Square::kWhole;
  plan.fetch = false;
  const bool is_short = plan.a.extent * item < kLongRow;
  const bool evict_each_other = spacing.row % (16 * spacing.way) == 0;
  const bool foreseen = spacing.far || !stream || LinesCompete(spacing);
  if (foreseen && spacing.row > kLongRow && (!is_short || evict_each_other))
    plan.lead = 0;
  plan.breadth =
      item >= 4 && spacing.ColumnsCompete() && !spacing.PagesCompete()
          ? (item == 8 && !stream ? 2 : 1) * kLineBytes / item
          : kMaxOffsets;
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

// Whether rows evict each other before all of their lines are read.
bool RowsEvictEachOther(const BlockPlan& plan, const Transposition& t) {
  const Spacing& spacing = t.spacing;
  if (!spacing.RowsCompete()) return false;
  if (spacing.row % spacing.way != 0) return plan.a.extent >= 2 * kManyRows;
  return !t.in_l2 || plan.a.extent >= kManyRows;
}

// Whether rows that compete are better read to scratch first: where columns do
// as well, and of small items everywhere; with lookups of bytes, which compete
// at half of that, and of pairs that are too few for squares, or past a near
// cache no squares at all.
bool Fetches(const BlockPlan& plan, const Transposition& t) {
  const Spacing& spacing = t.spacing;
  const int64_t item = spacing.item;
  const int64_t rows = plan.a.extent;
  if (!t.stream && item <= 4 && rows >= (item == 4 ? 1 : 2) * kManyRows &&
      spacing.RowsCrowd(rows))
    return true;
  if (spacing.wide) {
    if (item == 2)
      return spacing.RowsCompete() && rows >= kManyRows &&
             (t.stream ? !spacing.far
                       : std::min(rows, plan.b.extent) * item < kLineBytes);
    return item == 1 &&
           (spacing.RowsCompete() ? !t.in_l2 || rows > kManyRows
                                  : spacing.row % (spacing.way / 2) == 0 &&
                                        rows >= 2 * kManyRows);
  }
  if (!RowsEvictEachOther(plan, t)) return false;
  return item <= 2 || (item == 4 && !t.stream && spacing.ColumnsWait());
}

// Whether to read lines of rows whole is worth it. Past a near cache pieces of
// them are read as fast if they are asked for ahead: not where lines compete,
// of the longest items, or of few that are not small.
bool GainsFromSquares(const BlockPlan& plan, const Transposition& t) {
  return !t.stream || t.spacing.far || LinesCompete(t.spacing) ||
         plan.item == kPiece ||
         (plan.item >= 4 && plan.b.extent <= kFewInSquares);
}

// Whether squares of bytes would leave rows that are better read to scratch.
bool LeavesRest(const BlockPlan& plan, const Transposition& t) {
  const int64_t rest = plan.a.extent % kLineBytes;
  return plan.item == 1 && !t.stream && plan.a.extent < kMostWithRest &&
         (rest > kLineBytes / 2 || (rest > 0 && t.spacing.RowsCompete())) &&
         Fetches(plan, t);
}

// Whether sides that were too short for squares have grown into them. Only what
// competes gains, though columns of items of 4 bytes need not. Measured with a
// near last cache only.
bool HasGrownSquares(const BlockPlan& plan, const Transposition& t) {
  const Spacing& spacing = t.spacing;
  const int64_t item = plan.item;
  return spacing.wide && !spacing.far && plan.squares == Square::kNone &&
         plan.columns.empty() && item <= 8 &&
         (plan.a.num_loops > 1 || plan.b.num_loops > 1) &&
         plan.a.extent * item >= kLineBytes &&
         plan.b.extent * item >= kLineBytes && spacing.row % spacing.way == 0 &&
         (item == 4 ? spacing.ColumnsAreLines() : spacing.ColumnsCompete()) &&
         !LeavesRest(plan, t);
}

// In cache, blocks that stay in the first one were fastest.
Runs FetchedRuns(const Transposition& t) {
  if (t.spacing.wide && !t.in_l2) return {512, 512};
  return {t.stream ? 512 : t.spacing.item == 4 ? 256 : 128, 256};
}

// How many columns are written side by side. Few only if the rest of their rows
// is still there when its turn comes. In cache long items gain only where
// columns compete, but then in the second as well.
int64_t BreadthOf(const Transposition& t, int64_t row, bool fetch) {
  const Spacing& spacing = t.spacing;
  const bool rows_stay =
      !spacing.RowsCompete() || fetch || (t.stream && spacing.RowsStayNear());
  // Past the caches the longest items gain in long rows only, and not where
  // columns compete.
  const bool long_apart = row >= kLongRow && !spacing.ColumnsCompete();
  const bool gains = t.stream ? spacing.item <= 8 || long_apart
                     : spacing.item >= 8
                         ? spacing.ColumnsCompete()
                         : !spacing.wide && spacing.item == 4 && !t.in_l2;
  if (!spacing.ColumnsWait() || !rows_stay || !gains) return kMaxOffsets;
  return (fetch && !t.stream ? kLineBytes / 2 : kLineBytes) / spacing.item;
}

}  // namespace

Transposition::Transposition(const BlockPlan& plan, int64_t total_bytes,
                             const Machine& machine)
    : spacing(plan, machine),
      no_gaps(spacing.row == plan.b.extent * plan.item),
      in_l2(total_bytes < machine.l2),
      in_second(in_l2 && total_bytes > machine.l1),
      past_caches(machine.StreamsTiles(total_bytes)),
      stream(past_caches || machine.StreamsLines(total_bytes)) {}

Runs ChooseRuns(BlockPlan& plan, const Transposition& t) {
  const Spacing& spacing = t.spacing;
  const bool squares =
      spacing.AreSquares(t.stream, t.in_second) && GainsFromSquares(plan, t) &&
      plan.a.extent * plan.item >= kLineBytes &&
      plan.b.extent * plan.item >= kLineBytes && !LeavesRest(plan, t);
  Runs runs = t.stream ? PlanStreamed(plan, t) : PlanCached(plan, spacing);
  plan.fetch = Fetches(plan, t);
  plan.few_rows = spacing.item == 4 && !spacing.wide && !plan.fetch &&
                  RowsEvictEachOther(plan, t);
  if (plan.fetch) runs = FetchedRuns(t);
  plan.breadth = BreadthOf(t, plan.b.extent * plan.item, plan.fetch);
  return squares ? PlanSquares(plan, spacing, t.stream) : runs;
}

bool GrowIntoSquares(BlockPlan& plan, const Transposition& t, Runs& runs) {
  if (!HasGrownSquares(plan, t)) return false;
  runs = PlanSquares(plan, t.spacing, t.stream);
  return true;
}

Runs ChooseInRegisters(BlockPlan& plan, const Transposition& t, int64_t run,
                       const Runs& runs) {
  if (t.stream && t.spacing.Pairs()) return PlanPairs(plan, t.spacing);
  if (!t.stream || !t.spacing.Realigns(run)) return runs;
  plan.realigns = true;
  return {kRealignedBytes, kRealignedColumns * plan.item};
}

}  // namespace axis
