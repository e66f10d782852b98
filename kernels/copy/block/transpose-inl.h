// Transposing items of 1, 2, 4, 8 or 16 bytes, per SIMD target.
#include <algorithm>
#include <cassert>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/pieces-inl.h"
#include "kernels/copy/block/prefetch.h"
#include "kernels/copy/block/rows/rows-inl.h"
#include "kernels/copy/block/runs-inl.h"
#include "kernels/copy/block/spill-inl.h"
#include "kernels/copy/block/squares-inl.h"
#include "kernels/copy/block/stores-inl.h"
#include "kernels/copy/block/thin-inl.h"

#if defined(AXIS_BLOCK_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_TRANSPOSE_INL_H_
#undef AXIS_BLOCK_TRANSPOSE_INL_H_
#else
#define AXIS_BLOCK_TRANSPOSE_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

template <int64_t kItem>
void Transpose(const Block& block, Prefetcher& prefetcher) {
  MoveRows(block, prefetcher);
}

#else

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
  const int64_t lines = prefetcher.Pace(block, kRows, kItems);
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
      }
      store.EndStrip();
    }
    for (int64_t b = begin; b < b_end; ++b)
      store.End(b, dst + columns[b] + end * kItem);
  }
}

// The same, strip by strip, where rows and columns follow one another: their
// addresses stay in registers.
template <int64_t kBytes, int64_t kItem, int64_t kParts, class Store>
HWY_INLINE void TransposeStridedStrips(const Block& block, const uint8_t* src,
                                       int64_t a, int64_t end, int64_t breadth,
                                       uint8_t* dst, Prefetcher& prefetcher) {
  constexpr int64_t kRows = kParts * kBytes / kItem;
  constexpr int64_t kItems = kPieceBytes / kItem;
  const int64_t row_step = block.row_step, column_step = block.column_step;
  const int64_t num_b = block.num_b, last = num_b - kItems;
  const int64_t lines = prefetcher.Pace(block, kRows, kItems);
  Store store;
  for (int64_t begin = 0; begin < num_b; begin += breadth) {
    const int64_t b_end = std::min(begin + breadth, num_b);
    store.Begin(std::min(begin, last));
    for (int64_t at = a; at < end; at += kRows) {
      Strided<const uint8_t, kRows> rows(src + at * row_step + begin * kItem,
                                         row_step);
      Strided<uint8_t, kItems> columns(dst + at * kItem + begin * column_step,
                                       column_step);
      auto step = [&](int64_t b, int64_t again) HWY_ATTR {
        store.Enter(b, again, 0, 1);
        TransposePieces<kBytes, kItem, kParts>(rows, columns, store);
        if (lines > 0) prefetcher.Prefetch(lines);
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
  // More rows have more addresses than there are registers.
  if constexpr (kParts * kBytes / kItem <= 16)
    if (block.row_step != 0 && block.column_step != 0) {
      if constexpr (kSquares == Square::kNone && Store::kStrips == 1)
        return TransposeStridedStrips<kBytes, kItem, kParts, Store>(
            block, src, a, end, breadth, dst, prefetcher);
      else
        return TransposeStripsAs<kBytes, kItem, kParts, Store, kSquares, true>(
            block, src, a, end, breadth, dst, prefetcher);
    }
  TransposeStripsAs<kBytes, kItem, kParts, Store, kSquares, false>(
      block, src, a, end, breadth, dst, prefetcher);
}

// All strips of side A from item `a` on, at most kBytes wide.
// REQUIRES: num_a >= kPieceItems.
template <int64_t kBytes, int64_t kItem>
HWY_INLINE void TransposeStrips(const Block& block, const uint8_t* src,
                                uint8_t* dst, int64_t a,
                                Prefetcher& prefetcher) {
  constexpr int64_t kRows = kBytes / kItem;
  const bool narrow = block.num_b < kPieceBytes / kItem;
  // To look up the rows of each strip takes longer than to transpose it.
  if (narrow && a == 0 && block.row_step > 0)
    a = TransposeNarrowColumns<kBytes, kItem>(block, src, dst);
  auto strip = [&](int64_t at) HWY_ATTR {
    if (narrow) {
      TransposeNarrowStrip<kBytes, kItem>(block, src, at, dst);
    } else {
      TransposeStripsOf<kItem, DirectStore<false>, 1, Square::kNone, kBytes>(
          block, src, at, at + kRows, block.num_b, dst, prefetcher);
    }
  };
  for (; a + kRows <= block.num_a; a += kRows) strip(a);
  const int64_t left = block.num_a - a;
  if (left == 0) return;
  if constexpr (kBytes > kPieceBytes)
    if (left <= kRows / 2 || block.num_a < kRows)
      return TransposeStrips<kBytes / 2, kItem>(block, src, dst, a, prefetcher);
  strip(block.num_a - kRows);
}

// Transposes the strips as wide as a line up to item `end` of side A.
template <int64_t kItem, class Store>
HWY_INLINE void TransposeLinesTo(const Block& block, const uint8_t* src,
                                 int64_t end, int64_t breadth, uint8_t* dst,
                                 Prefetcher& prefetcher) {
  constexpr int64_t kParts = kLineBytes / kVectorBytes;
  if constexpr (kHasSquares) {
    if (block.squares == Square::kWhole)
      return TransposeStripsOf<kItem, Store, kParts, Square::kWhole>(
          block, src, 0, end, breadth, dst, prefetcher);
    if constexpr (kItem == 2)  // where it gains
      if (block.squares == Square::kByPiece)
        return TransposeStripsOf<kItem, Store, kParts, Square::kByPiece>(
            block, src, 0, end, breadth, dst, prefetcher);
  }
  TransposeStripsOf<kItem, Store, kParts>(block, src, 0, end, breadth, dst,
                                          prefetcher);
}

// Transposes strips as wide as a line; returns the items of side A they hold.
// REQUIRES: num_b >= kPieceItems, or a line of squares; AreLines(block), or it
//           is not streamed, or `realign`.
template <int64_t kItem>
HWY_INLINE int64_t TransposeLines(const Block& block,
                                  [[maybe_unused]] bool realign,
                                  const uint8_t* src, uint8_t* dst,
                                  Prefetcher& prefetcher) {
  constexpr int64_t kRows = kLineBytes / kItem;
  if constexpr (kLineBytes / kVectorBytes > 2) return 0;
  const int64_t end = block.num_a / kRows * kRows;
  assert(block.squares == Square::kNone || block.num_b >= kRows);
#if HWY_TARGET == HWY_AVX3_DL
  if (realign)
    return TransposeLinesTo<kItem, Realigner<kItem> >(
               block, src, end,
               std::min(block.breadth, Realigner<kItem>::kColumns), dst,
               prefetcher),
           end;
  if (block.stream && block.pairs)
    return TransposeLinesTo<kItem, PairingStore<kItem> >(
               block, src, end, block.breadth, dst, prefetcher),
           end;
#endif
  block.stream ? TransposeLinesTo<kItem, DirectStore<true> >(
                     block, src, end, block.breadth, dst, prefetcher)
               : TransposeLinesTo<kItem, DirectStore<false> >(
                     block, src, end, block.breadth, dst, prefetcher);
  return end;
}

template <int64_t kItem>
void Transpose(const Block& block, Prefetcher& prefetcher) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  constexpr int64_t kShortBytes = std::min(kVectorBytes, kSpillRun);
  // Wider stores would each cross a line; that pays only where it is shuffles,
  // not stores, that take the time.
  constexpr int64_t kStripBytes = kItem <= 2 ? kVectorBytes : kShortBytes;
  const bool strips =
      kItem == kPieceBytes || block.num_a > kItems || block.num_b < 2 * kItems;
  const bool quiet = !block.stream && !prefetcher.has_block();
  if constexpr (kItem < kPieceBytes)
    if (quiet && block.num_a * kItem <= kShortBytes &&
        (block.packed || block.num_a < kItems))
      return TransposeShortColumns<kItem>(block);
  if (block.num_a < kItems) return MoveRows(block, prefetcher);
  const bool together = quiet && block.num_b >= kItems &&
                        block.num_a * kItem < kShortBytes &&
                        block.num_a * block.num_b * kItem <= kRepetitionBytes &&
                        block.batch.extent >= kFewRepetitions;
  if constexpr (kItem < kPieceBytes)
    if (together) return TransposeTogether<kItem>(block);
  const bool squares = block.squares != Square::kNone;
  // Whole lines are better written at once, but of small items.
  const bool sweeps = SweepsColumns(block) && (kItem <= 2 || !AreLines(block));
  const bool few =
      strips && !squares && block.row_step != 0 && block.num_b >= kItems &&
      block.num_b * kItem <= (sweeps ? kFewSweptBytes : kFewBytes) &&
      block.num_a * kItem >= kVectorBytes && !block.stream;
  const bool long_enough = strips && !few && block.num_b >= kItems &&
                           block.num_a * kItem >= kLineBytes;
  const bool are_lines =
      long_enough && AreLines(block) && (block.stream || !block.few_rows);
  const bool realign = kRealigns && long_enough && !are_lines &&
                       block.realigns && AreAligned(block);
  const bool lines =
      are_lines || realign || (long_enough && squares && !block.stream);
  for (int64_t t = 0; t < block.batch.extent; ++t) {
    const uint8_t* const src = block.src + t * block.batch.src_stride;
    uint8_t* const dst = block.dst + t * block.batch.dst_stride;
    if (few) {
      TransposeFewColumns<kVectorBytes, kItem>(block, src, dst, prefetcher);
    } else if (strips) {
      const int64_t a =
          lines ? TransposeLines<kItem>(block, realign, src, dst, prefetcher)
                : 0;
      if (a < block.num_a)
        TransposeStrips<kStripBytes, kItem>(block, src, dst, a, prefetcher);
    } else if constexpr (kItem < kPieceBytes) {
      TransposeShort<kShortBytes, kItem>(block, src, dst);
    }
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
