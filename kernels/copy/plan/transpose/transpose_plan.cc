#include "kernels/copy/plan/transpose/transpose_plan.h"

#include <algorithm>

#include "kernels/copy/block.h"
#include "kernels/copy/plan/spacing.h"
#include "kernels/copy/plan/transpose/transpose_runs.h"

namespace axis {
namespace {

// Scratch has room for as many runs as a block has columns, of so many bytes
// for each byte of items of 1 or 2.
constexpr int64_t kWholeBytes = 2 << 10;

// Blocks that are fetched are at most so large, that they fit scratch with a
// line of room for each of their rows.
constexpr int64_t kFetchedBlock = 192 << 10;

// More repetitions are moved together where columns spill over: the last ones
// of a block take longer, for what follows them is not theirs.
constexpr int64_t kSpillBytes = 256 << 10;

// Repetitions of columns that spill over are kept together if they come to so
// much: to begin anew takes as long as some hundred bytes of each.
constexpr int64_t kFollowingBytes = 2 << 10;

// Past the caches, blocks of so many bytes were fastest where a store does not
// write a line: columns of runs from a quarter of the most to that, and rows
// that follow one another read whole.
constexpr int64_t kStreamedBlock = 64 << 10;
constexpr int64_t kStreamedRun = 1 << 10;
constexpr int64_t kStreamedRow = 4 << 10;

// In cache, blocks of few columns have runs as long as makes them so large, for
// they take a while to begin; items that are written a line of a column at a
// time have runs and rows of this length.
constexpr int64_t kCachedBlock = 256 << 10;
constexpr int64_t kCachedRun = 4 << 10;

// In cache, what goes by way of scratch: about so many bytes of each column and
// of each row, and of no more columns.
constexpr int64_t kJoinedRun = 1 << 10, kJoinedRow = 256, kJoinedColumns = 256;

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
// over, and those shorter than a vector are worth more than columns if both
// could go on along the same loop. Not if columns would then be the shorter
// side, or rows of vectors no longer spill.
bool RowsGoFirst(const BlockPlan& plan, const Spacing& spacing,
                 const Loops& loops) {
  const int64_t b_bytes = plan.b.extent * plan.item;
  if (!plan.columns.empty() || plan.b.extent >= plan.a.extent) return false;
  if (b_bytes < kPiece) {
    const auto next = Find(loops, &Loop::dst_stride, plan.a.extent * plan.item);
    if (next && loops[*next].src_stride == b_bytes) return true;
  }
  return spacing.row >= kLineBytes && b_bytes < kLineBytes &&
         !(b_bytes >= kPiece && Spills(plan));
}

// Whether blocks go by way of scratch to lines that take two stores each.
bool IsStaged(const BlockPlan& plan, const Transposition& t) {
  return plan.stage && !t.spacing.wide && !plan.fetch;
}

// Whether columns are written a line at a time, wherever those begin. Where a
// store writes one, not if columns compete.
bool WritesLines(const BlockPlan& plan, const Spacing& spacing) {
  if (!spacing.halves || plan.item < 4 || plan.b.num_loops > 1 ||
      !plan.columns.empty())
    return false;
  return !spacing.wide ||
         (plan.squares == Square::kNone && spacing.column % spacing.way != 0 &&
          plan.a.extent * plan.item >= 2 * kLineBytes &&
          plan.b.extent * plan.item > kFewBytes);
}

// Whether blocks in cache are as long as they can be: with lookups only those
// of columns that are few, or written a line at a time.
bool GainsFromLength(const BlockPlan& plan, const Spacing& spacing) {
  return !spacing.wide || plan.b.extent * plan.item <= kFewBytes ||
         WritesLines(plan, spacing);
}

// Whether what stays in cache goes by way of scratch: lines that a strip leaves
// half written would be gone before the next. Measured with lookups only.
bool JoinsCrowded(const BlockPlan& plan, const Transposition& t) {
  return t.spacing.wide && !t.stream && !plan.fetch &&
         plan.squares == Square::kNone && plan.item <= 8 &&
         plan.b.num_loops == 1 && plan.columns.empty() &&
         plan.a.extent * plan.item >= kLongItem &&
         t.spacing.ColumnsCrowd(plan.b.extent);
}

// Lets columns take in the loops that continue them.
void GrowColumns(BlockPlan& plan, const Transposition& t, int64_t a_bytes,
                 Loops& loops) {
  const int64_t item = plan.item;
  // Rows that are shorter than a piece are read as if they were one: best one
  // after the other, as long as columns are pieces; and with lookups in cache,
  // if there are enough of them.
  const bool best_alone = t.spacing.wide
                              ? !t.stream && plan.a.extent >= 2 * kPiece
                              : plan.a.extent * item >= kPiece;
  if (item <= 2 && plan.b.extent * item < kPiece && best_alone &&
      RepeatOften(loops))
    return;
  const bool squares = plan.squares != Square::kNone;
  const bool staged = IsStaged(plan, t);
  // Squares gain from rows of other loops only where runs are short.
  if (staged ? plan.lines : !squares || plan.a.extent * item < kLongRow)
    Grow(plan.a, &Loop::dst_stride, item,
         squares ? 2 * kLongRow : std::max(a_bytes, kLongItem), loops,
         plan.lines && !t.spacing.wide ? Part::kLines : Part::kAtMost);
  if (!staged) return;
  plan.lines = plan.lines && AreLines(plan, loops);
  // Rows that follow one another are left to themselves.
  if (!plan.lines && (!t.no_gaps || plan.a.extent * item < kLongRow))
    Grow(plan.a, &Loop::dst_stride, item, kStreamedRun, loops, Part::kNearest);
}

// Lets rows take in the loops that continue them.
void GrowRows(BlockPlan& plan, int64_t b_bytes, Part parts, Loops& loops) {
  const int64_t item = plan.item;
  if (Spills(plan)) {
    // What takes less than a vector is taken further, though columns no longer
    // follow one another then.
    if (plan.b.extent * item < 2 * kPiece)
      Grow(plan.b, &Loop::src_stride, item, kApartBytes / plan.a.extent, loops);
    return;
  }
  // What fits a few vectors is best left alone.
  const bool alone = ArePacked(plan) && plan.b.extent * item >= kPiece &&
                     FitsVectors(plan.a.extent, plan.b.extent, item);
  if (plan.columns.empty() && !alone)
    Grow(plan.b, &Loop::src_stride, item, b_bytes, loops, parts);
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
// anything else; but of rows that a block cannot hold the rest is neither.
void CutStreamed(BlockPlan& plan, bool no_gaps, int64_t a_bytes) {
  const int64_t item = plan.item;
  const bool whole = no_gaps && plan.b.extent <= kMaxOffsets &&
                     plan.b.extent * item <= kStreamedRow;
  CutEvenly(plan.b, item, whole ? kStreamedRow : kLongRow, kMaxOffsets);
  if (plan.lines && !whole) return Cut(plan.a, item, a_bytes);
  CutEvenly(
      plan.a, item,
      std::clamp(kStreamedBlock / plan.b.block, kStreamedRun / 4, kStreamedRun),
      kMaxOffsets);
}

// Cuts what stays in cache into blocks of few columns if they compete: a few of
// them at a time are written to their end, so that what all of them read had
// better stay in the first cache. False if they do not.
bool CutFewColumns(BlockPlan& plan, const Spacing& spacing) {
  const int64_t item = plan.item, row = plan.b.extent * item;
  const bool few = spacing.ColumnsCompete()
                       ? row <= kFewBytes
                       : row >= kLineBytes && spacing.SmallColumnsCompete();
  if (!few || plan.a.num_loops > 1 || plan.b.num_loops > 1 ||
      !plan.columns.empty())
    return false;
  Cut(plan.b, item, kFewBytes);
  Cut(plan.a, item, kRepeatBytes / plan.b.block);
  return true;
}

// Cuts what stays in cache, and lies where it is.
void CutCached(BlockPlan& plan, const Spacing& spacing, const Runs& runs) {
  if (CutFewColumns(plan, spacing)) return;
  const int64_t item = plan.item;
  const bool lines = WritesLines(plan, spacing);
  Cut(plan.b, item, lines ? kCachedRun : runs.b_bytes);
  if (lines && plan.breadth == kMaxOffsets)
    return Cut(plan.a, item, kCachedRun);
  const int64_t row = std::min(plan.b.extent * item, runs.b_bytes);
  Cut(plan.a, item,
      std::clamp(kCachedBlock / row, runs.a_bytes,
                 std::max(runs.a_bytes, kCachedRun)));
}

// Cuts what goes by way of scratch in cache: a rest is as slow as a block.
void CutJoined(BlockPlan& plan) {
  CutEvenly(plan.a, plan.item, kJoinedRun, kMaxOffsets);
  CutEvenly(plan.b, plan.item, kJoinedRow, kJoinedColumns);
}

// Cuts everything else. What is put together in registers fills scratch as it
// is, and of many rows that are fetched there is less of each.
void CutBlocks(BlockPlan& plan, const Transposition& t, const Runs& runs) {
  const int64_t item = plan.item;
  Cut(plan.a, item, runs.a_bytes);
  const int64_t most = kFetchedBlock / plan.a.block / kLineBytes * kLineBytes;
  const int64_t row = plan.fetch ? std::min(runs.b_bytes, most) : runs.b_bytes;
  if (!t.stream || t.spacing.far || plan.realigns)
    return Cut(plan.b, item, row);
  CutEvenly(plan.b, item, row, plan.fetch ? most / item : kMaxOffsets);
}

// Of columns that spill over into the next, repetitions that follow one another
// are moved in one go, others by way of scratch. If they come to so much, the
// former go first, unless the source is then read here and there.
void OrderSpilling(const BlockPlan& plan, bool past_caches, Loops& loops) {
  const int64_t span = plan.item * plan.a.extent * plan.b.extent;
  const auto next = Find(loops, &Loop::dst_stride, span);
  if (!next || plan.b.block < plan.b.extent ||
      loops[*next].extent * span < kFollowingBytes ||
      (past_caches && span < kLongRow))
    return;
  const Loop following = Take(loops, *next);
  loops.push_back(following);
}

}  // namespace

void PlanTranspose(BlockPlan& plan, Loops& loops, int64_t total_bytes,
                   const Machine& machine) {
  plan.kernel = Kernel::kTranspose;
  const Transposition t(plan, total_bytes, machine);
  const Spacing& spacing = t.spacing;
  const int64_t item = plan.item;
  Runs runs = ChooseRuns(plan, t);
  if (RowsGoFirst(plan, spacing, loops))
    Grow(plan.b, &Loop::src_stride, item, runs.b_bytes, loops);
  GrowColumns(plan, t, runs.a_bytes, loops);
  const bool joins = JoinsCrowded(plan, t);
  if (joins) {
    plan.stage = true;
    plan.breadth = kMaxOffsets;
  }
  const int64_t run = plan.a.extent * item;
  const bool is_short = run < kLongRow, spills = Spills(plan);
  // What spills is written in one go; else a few KiB of the destination again.
  if (spills) {
    runs.b_bytes = 4096;
  } else if (t.stream && is_short) {
    runs.b_bytes = 512;
  }
  const bool staged = IsStaged(plan, t) && !is_short && !spills;
  GrowRows(plan, runs.b_bytes, staged ? Part::kNearest : Part::kAtMost, loops);
  // Runs that begin and end within lines are best written whole.
  if (const int64_t whole = kWholeBytes * std::min<int64_t>(item, 2);
      plan.stage && !plan.lines && run <= whole)
    runs.a_bytes = whole;
  if (GrowIntoSquares(plan, t, runs))
    GrowRows(plan, runs.b_bytes, Part::kAtMost, loops);
  else
    runs = ChooseInRegisters(plan, t, run, runs);
  if (joins) {
    CutJoined(plan);
  } else if (staged) {
    CutStreamed(plan, t.no_gaps, runs.a_bytes);
  } else if (!t.stream && !plan.fetch && GainsFromLength(plan, spacing)) {
    CutCached(plan, spacing, runs);
  } else {
    CutBlocks(plan, t, runs);
  }
  std::sort(loops.begin(), loops.end(), IsWider);
  if (spills) OrderSpilling(plan, t.past_caches, loops);
  plan.lines = plan.lines && AreLines(plan, loops);
  plan.carry = plan.stage && plan.stream && plan.a.block < plan.a.extent;
  // What is prefetched of rows that compete is evicted before its turn; from a
  // cache that is far away, and in squares, a core foresees rows by itself.
  if ((plan.lines && spacing.RowsStayNear()) ||
      (spacing.far && (plan.realigns || plan.squares != Square::kNone)))
    plan.lead = 0;
  if (is_short) PlanShort(plan, run, t.past_caches);
  Repeat(plan, loops, plan.fetch ? 1 : spills ? kSpillBytes : kRepeatBytes);
  plan.outer = loops;
}

}  // namespace axis
