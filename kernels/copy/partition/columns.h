// Joining: the moves of a split that take items right after one another are one
// move of columns, which reads its source once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/container/inlined_vector.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/partition/partition.h"
#include "kernels/copy/plan/block_plan.h"

namespace axis {

// Longer items are as well read one after the other.
inline constexpr int64_t kLongestColumn = 64 << 10;

// Whether `next` takes from the source the items right after those of `move`.
inline bool Follows(const Move& move, const Move& next) {
  return next.src == move.src + move.copy.item &&
         next.copy.item == move.copy.item &&
         next.copy.loops == move.copy.loops && !move.copy.loops.empty() &&
         move.copy.item <= kLongestColumn;
}

// Shorter columns are not worth a plan each.
inline constexpr int64_t kColumnOfItsOwn = 8 << 10;

// Whether the items of `count` moves like this one, which follow one another,
// are better brought together move by move: as columns they would be transposed
// with what they leave of every step, up to twice as slow, or padded.
inline bool AreBetterApart(const Move& move, size_t count) {
  if (!IsCompact(move.copy)) return false;
  const int64_t item = move.copy.item, few = static_cast<int64_t>(count);
  const Loop items = move.copy.loops.back();
  return few * item < items.src_stride
             ? items.src_stride <= 4 * item
             : items.extent * item >= kColumnOfItsOwn &&
                   AreTakenApart(item, few, ThisMachine());
}

// Where the columns of all moves go.
using Columns = absl::InlinedVector<int64_t, 16>;

// Joins moves that follow one another to one of columns, whose offsets are
// kept in `columns`.
inline absl::InlinedVector<Move, 4> JoinColumns(std::span<const Move> moves,
                                                Columns& columns) {
  columns.reserve(moves.size());  // so that spans stay valid
  absl::InlinedVector<Move, 4> joined;
  for (size_t i = 0; i < moves.size();) {
    size_t end = i + 1;
    while (end < moves.size() && end - i < kMaxOffsets &&
           Follows(moves[end - 1], moves[end]))
      ++end;
    if (AreBetterApart(moves[i], end - i)) end = i + 1;
    joined.push_back(moves[i]);
    if (end > i + 1) {
      const size_t begin = columns.size();
      for (size_t k = i; k < end; ++k)
        columns.push_back(moves[k].dst - moves[i].dst);
      joined.back().columns =
          std::span<const int64_t>(columns).subspan(begin, end - i);
    }
    i = end;
  }
  return joined;
}

}  // namespace axis
