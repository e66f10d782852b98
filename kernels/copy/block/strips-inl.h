// Transposing strips of rows, per SIMD target.
#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/pieces-inl.h"
#include "kernels/copy/block/prefetch.h"
#include "kernels/copy/block/squares-inl.h"
#include "kernels/copy/block/stores-inl.h"

#if defined(AXIS_BLOCK_STRIPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_STRIPS_INL_H_
#undef AXIS_BLOCK_STRIPS_INL_H_
#else
#define AXIS_BLOCK_STRIPS_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

// More rows have more addresses than there are registers.
inline constexpr int64_t kMostAddresses = 16;

// What to ask for ahead of strips that begin at row `a`. What stays in cache
// asks for nothing, and had better not ask itself whether it does: without the
// test for each step f32 is 1.05 times as fast in the mean of 8.
template <class Store, int64_t kRows, int64_t kStep>
HWY_INLINE StripsAhead<kRows, kStep> AheadOf(const Prefetcher& prefetcher,
                                             const uint8_t* src, int64_t a) {
  if constexpr (!Store::kPastCaches) return {};
  return prefetcher.Strips<kRows, kStep>(src, a);
}

// Writes side A from item `a` to `end` in strips of kParts * kBytes, all of
// them for `breadth` items of side B, then for the next; as many strips at a
// time as `Store` puts together. The last items may overlap those before. If
// the columns are lines and the parts fill them, lines are written whole: only
// so can they be streamed, and it takes half the time if no cache holds them.
// REQUIRES: num_b items fill a piece, or a line of squares; the strips end at
//           `end`.
template <int64_t kBytes, int64_t kItem, int64_t kParts, class Store,
          Square kSquares, bool kStrided>
HWY_INLINE void TransposeStripsAs(const Block& block, const uint8_t* src,
                                  int64_t a, int64_t end, int64_t breadth,
                                  uint8_t* dst, Prefetcher& prefetcher) {
  constexpr int64_t kRows = kParts * kBytes / kItem;
  constexpr int64_t kItems =
      kSquares == Square::kNone ? kPieceBytes / kItem : kRows;
  constexpr int64_t kStrips = Store::kStrips;
  const int64_t row_step = block.row_step, column_step = block.column_step;
  const int64_t num_b = block.num_b, last = num_b - kItems;
  const int64_t* const offsets = block.rows;
  const int64_t* const columns = block.columns;
  auto ahead =
      AheadOf<Store, kStrips * kRows, kItems * kItem>(prefetcher, src, a);
  // Rows that lie here and there are asked for one after the other.
  const int64_t lines =
      !kStrided && row_step == 0 ? prefetcher.Pace(block, kRows, kItems) : 0;
  Store store;
  for (int64_t begin = 0; begin < num_b; begin += breadth) {
    const int64_t b_end = std::min(begin + breadth, num_b);
    store.Begin(std::min(begin, last));
    for (int64_t strip = a; strip < end; strip += kStrips * kRows) {
      const int64_t strips =
          kStrips == 1 ? 1 : std::min(kStrips, (end - strip) / kRows);
      const uint8_t* rows[kStrips * kRows];
      for (int64_t i = 0; !kStrided && i < strips * kRows; ++i)
        rows[i] = src + offsets[strip + i];
      ahead.Enter(strip - a, row_step, begin * kItem, b_end * kItem);
      const uint8_t* const first_row = src + strip * row_step;
      uint8_t* const first_column = dst + strip * kItem;
      for (int64_t next = begin; next < b_end; next += kItems) {
        const int64_t b = std::min(next, last);
        for (int64_t s = 0; s < strips; ++s) {
          const int64_t at = s * kRows;
          const uint8_t* const from = first_row + at * row_step + b * kItem;
          uint8_t* const to = first_column + at * kItem;
          auto row = [=, &rows](int64_t i) HWY_ATTR {
            return kStrided ? from + i * row_step : rows[at + i] + b * kItem;
          };
          auto column = [=](int64_t i) HWY_ATTR {
            return to + (kStrided ? (b + i) * column_step : columns[b + i]);
          };
          store.Enter(b, next - b, s, strips);
          if constexpr (kSquares == Square::kWhole) {
            TransposeSquare<kItem>(row, column, store);
          } else if constexpr (kSquares == Square::kByPiece) {
            TransposeSquareByPiece<kItem>(row, column, store);
          } else {
            TransposePieces<kBytes, kItem, kParts>(row, column, store);
          }
        }
        if (lines > 0) prefetcher.Prefetch(lines);
        ahead.Ask(b * kItem, row_step);
      }
      store.EndStrip();
    }
    for (int64_t b = begin; b < b_end; ++b)
      store.End(b, dst + columns[b] + end * kItem);
  }
}

// The same, strip by strip, where rows and columns follow one another: their
// addresses stay in registers, or are found from one another. To look up those
// of 32 and 64 rows took up to 1.3 times as long, where stores are lines.
template <int64_t kBytes, int64_t kItem, int64_t kParts, class Store>
HWY_INLINE void TransposeStridedStrips(const Block& block, const uint8_t* src,
                                       int64_t a, int64_t end, int64_t breadth,
                                       uint8_t* dst, Prefetcher& prefetcher) {
  constexpr int64_t kRows = kParts * kBytes / kItem;
  constexpr int64_t kItems = kPieceBytes / kItem;
  constexpr bool kInRegisters = kRows <= kMostAddresses;
  const int64_t row_step = block.row_step, column_step = block.column_step;
  const int64_t num_b = block.num_b, last = num_b - kItems;
  auto ahead = AheadOf<Store, kRows, kPieceBytes>(prefetcher, src, a);
  Store store;
  for (int64_t begin = 0; begin < num_b; begin += breadth) {
    const int64_t b_end = std::min(begin + breadth, num_b);
    store.Begin(std::min(begin, last));
    for (int64_t at = a; at < end; at += kRows) {
      ahead.Enter(at - a, row_step, begin * kItem, b_end * kItem);
      Strided<const uint8_t, kInRegisters ? kRows : 1> rows(
          src + at * row_step + begin * kItem, row_step);
      Strided<uint8_t, kInRegisters ? kItems : 1> columns(
          dst + at * kItem + begin * column_step, column_step);
      auto step = [&](int64_t b, int64_t again) HWY_ATTR {
        store.Enter(b, again, 0, 1);
        if constexpr (kInRegisters) {
          TransposePieces<kBytes, kItem, kParts>(rows, columns, store);
        } else {
          TransposeInOrder<kBytes, kItem, kParts>(rows(0), row_step, columns(0),
                                                  column_step, store);
        }
        ahead.Ask(b * kItem, row_step);
      };
      int64_t b = begin;
      for (; b + kItems <= b_end; b += kItems) {
        step(b, 0);
        rows.Advance(kPieceBytes);
        columns.Advance(kItems * column_step);
      }
      if (b < b_end) {
        rows.Advance((last - b) * kItem);
        columns.Advance((last - b) * column_step);
        step(last, b - last);
      }
      store.EndStrip();
    }
    for (int64_t b = begin; b < b_end; ++b)
      store.End(b, dst + block.columns[b] + end * kItem);
  }
}

template <int64_t kItem, class Store, int64_t kParts,
          Square kSquares = Square::kNone, int64_t kBytes = kVectorBytes>
HWY_INLINE void TransposeStripsOf(const Block& block, const uint8_t* src,
                                  int64_t a, int64_t end, int64_t breadth,
                                  uint8_t* dst, Prefetcher& prefetcher) {
  if (block.row_step != 0 && block.column_step != 0) {
    if constexpr (kSquares == Square::kNone && Store::kStrips == 1) {
      return TransposeStridedStrips<kBytes, kItem, kParts, Store>(
          block, src, a, end, breadth, dst, prefetcher);
    } else if constexpr (kParts * kBytes / kItem <= kMostAddresses) {
      return TransposeStripsAs<kBytes, kItem, kParts, Store, kSquares, true>(
          block, src, a, end, breadth, dst, prefetcher);
    }
  }
  TransposeStripsAs<kBytes, kItem, kParts, Store, kSquares, false>(
      block, src, a, end, breadth, dst, prefetcher);
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
