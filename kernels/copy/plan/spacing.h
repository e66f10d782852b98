// How the rows and columns of a transposition lie, and what that asks for.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "kernels/copy/block.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/plan/block_plan.h"

namespace axis {

// A vector register block: what a transposition takes of a row at a time.
inline constexpr int64_t kPiece = 16;

// Rows at least this long are worth prefetching one by one.
inline constexpr int64_t kLongRow = 256;

// Columns that are put together in registers are at least so long, that few
// lines are written in parts.
inline constexpr int64_t kRealignedRun = 1 << 10;

// Of rows so far apart, this many find a place for a line of each in the first
// cache, unless they share lines.
inline int64_t PlacesFor(int64_t row, const Machine& machine) {
  return machine.l1 / std::gcd(row, machine.l1_way);
}

// What is a way of the first cache apart competes for the same place there.
struct Spacing {
  Spacing(const BlockPlan& plan, const Machine& machine)
      : item(plan.item),
        way(machine.l1_way),
        ways(machine.l1 / machine.l1_way),
        row(plan.a.loops[0].src_stride),
        column(plan.columns.empty() ? plan.b.loops[0].dst_stride
                                    : plan.columns[1]),
        halves(2 * machine.vector >= kLineBytes),
        wide(machine.LooksUp()),
        far(machine.HasFarL3()) {}

  // Of bytes, so many rows are read side by side that they compete at half of
  // that as well; with lookups only what is fetched goes by that (Fetches()).
  bool RowsCompete() const {
    return row % (item == 1 && !wide ? way / 2 : way) == 0;
  }
  // Rows compete in the first cache, but not in the second.
  bool RowsStayNear() const {
    return !wide && RowsCompete() && row <= 4 * way && (item == 4 || item == 8);
  }
  // Whether rows evict each other though they begin in lines of their own: some
  // bytes more or less than a way apart, as those of 2049 or 4097 items are, or
  // two or three of them.
  bool RowsCrowd(int64_t rows) const {
    return Crowd(row, std::min(rows, kLineBytes / item));
  }
  // So do columns that a strip leaves lines of half written.
  bool ColumnsCrowd(int64_t columns) const {
    return Crowd(column, std::min(columns, kLineBytes));
  }
  bool ColumnsCompete() const { return column % (way / 2) == 0; }
  // So do those of small items at half of that, if rows do not.
  bool SmallColumnsCompete() const {
    return item <= 2 && column % (way / 4) == 0 && row % (way / 8) != 0;
  }
  // As many rows as a block has are in more pages than can be looked up at
  // once.
  bool PagesCompete() const {
    return row > 2 * way * std::min<int64_t>(item, 4);
  }
  // Whether the lines of rows may be better read once, whole: on the way past
  // the caches, and where so many rows as a line has items compete, for small
  // items even if that writes no lines. For bytes that takes more shuffles than
  // it is worth if pieces of rows never cross a line. Measured with lookups
  // only. Where the last cache is far, they gain in the second, or where as
  // many rows as a block has are in few pages lose; and past the caches, where
  // rows of small items compete in the second cache as well.
  bool AreSquares(bool stream, bool in_second) const {
    if (!wide) return false;
    if (far && stream && !ColumnsAreLines())
      return row % (way * std::min<int64_t>(item, 2) / 4) == 0 &&
             (item > 2 || row % (4 * way) != 0);
    if (far && in_second && item > 1 && row >= kLongRow)
      return row % kLineBytes == 0;
    if (far && !stream && item == 4 && !PagesCompete()) return false;
    if (!ColumnsAreLines() && (stream || item > 2)) return false;
    if (stream && (item > 1 || row % kPiece != 0)) return true;
    if (item == 1 && PagesCompete()) return false;
    return row % (way * std::min<int64_t>(item, 2) / 4) == 0 ||
           (item >= 4 && ColumnsCompete() && row % (way / 8) == 0);
  }
  bool ColumnsAreLines() const { return column % kLineBytes == 0; }
  // Whether lines are streamed in pairs.
  bool Pairs() const { return far && ColumnsAreLines(); }
  // Whether columns of `run` bytes that are no lines are put together in
  // registers, to stream them at once. Short ones gain more from scratch, where
  // those that follow one another make lines.
  bool Realigns(int64_t run) const {
    return wide && !ColumnsAreLines() && run >= kRealignedRun;
  }
  // Lines an eighth of a way apart wait for each other: better a few columns,
  // and several lines of each.
  bool ColumnsWait() const { return column % (way / 8) == 0; }

  int64_t item, way, ways;
  int64_t row, column;  // from one to the next, in bytes
  bool halves;          // whether two stores write a line
  // Whether one does. Measured with lookups and with AVX2 only.
  bool wide;
  bool far;  // the last cache

 private:
  // Whether more of `count` things that are `step` apart lie in two
  // neighbouring lines than one and a half have places for.
  bool Crowd(int64_t step, int64_t count) const {
    constexpr int64_t kMostLines = 256;
    const int64_t lines = way / kLineBytes;
    if (step < way / 4 || step % kLineBytes == 0 || lines > kMostLines)
      return false;
    std::array<int64_t, kMostLines> in_line{};
    const auto line_of = [=, this](int64_t i) {
      return static_cast<size_t>(i * step % way / kLineBytes);
    };
    for (int64_t i = 0; i < count; ++i) ++in_line[line_of(i)];
    int64_t most = 0;
    for (int64_t i = 0; i < count; ++i) {
      const size_t line = line_of(i);
      const size_t next = (line + 1) % static_cast<size_t>(lines);
      most = std::max(most, in_line[line] + in_line[next]);
    }
    return most > ways * 3 / 2;
  }
};

}  // namespace axis
