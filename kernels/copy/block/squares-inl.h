// Transposing squares of lines, for the SIMD target that looks bytes up.
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/lookup/lookup-inl.h"
#include "kernels/copy/block/pieces-inl.h"

#if defined(AXIS_BLOCK_SQUARES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_SQUARES_INL_H_
#undef AXIS_BLOCK_SQUARES_INL_H_
#else
#define AXIS_BLOCK_SQUARES_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

// Whether vectors are lines, and squares of them were measured to pay.
inline constexpr bool kHasSquares = kHasLookup;

#if HWY_TARGET == HWY_AVX3_DL

// 2 blocks of `low`, then 2 of `high`: the even ones, or the odd ones.
template <bool kOdd, class V>
HWY_INLINE V EveryOtherBlock(V low, V high) {
  return V{_mm512_shuffle_i32x4(low.raw, high.raw, kOdd ? 0xdd : 0x88)};
}

// Transposes the 4 x 4 blocks of 4 vectors.
template <class V>
HWY_INLINE void TransposeWholeBlocks(V& a, V& b, V& c, V& d) {
  const V even_ab = EveryOtherBlock<false>(a, b);
  const V odd_ab = EveryOtherBlock<true>(a, b);
  const V even_cd = EveryOtherBlock<false>(c, d);
  const V odd_cd = EveryOtherBlock<true>(c, d);
  a = EveryOtherBlock<false>(even_ab, even_cd);
  b = EveryOtherBlock<false>(odd_ab, odd_cd);
  c = EveryOtherBlock<true>(even_ab, even_cd);
  d = EveryOtherBlock<true>(odd_ab, odd_cd);
}

// Transposes a line of each of as many rows as it has items: every line is read
// once, however soon the rows evict each other.
template <int64_t kItem, class Row, class Column, class Store>
HWY_INLINE void TransposeSquare(Row row, Column column, const Store& store) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  const VectorOf<kLineBytes, kItem> d;
  hn::Vec<decltype(d)> x[4][kItems];
  HWY_UNROLL(4)
  for (int64_t piece = 0; piece < 4; ++piece) {
    HWY_UNROLL(16)
    for (int64_t i = 0; i < kItems; ++i)
      x[piece][i] = LoadAt(d, row(piece * kItems + i));
    TransposeBlocks(d, x[piece]);
  }
  HWY_UNROLL(16)
  for (int64_t i = 0; i < kItems; ++i) {
    TransposeWholeBlocks(x[0][i], x[1][i], x[2][i], x[3][i]);
    HWY_UNROLL(4)
    for (int64_t piece = 0; piece < 4; ++piece)
      store.Put(piece * kItems + i, x[piece][i], d, column(piece * kItems + i));
  }
}

// The same, a piece of each row after the other: parts of vectors are loaded
// where the blocks of whole ones would be shuffled.
template <int64_t kItem, class Row, class Column, class Store>
HWY_INLINE void TransposeSquareByPiece(Row row, Column column,
                                       const Store& store) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  HWY_UNROLL(4)
  for (int64_t piece = 0; piece < 4; ++piece)
    TransposePieces<kLineBytes, kItem, 1>(
        [=](int64_t i) HWY_ATTR { return row(i) + piece * kPieceBytes; },
        [=](int64_t i) HWY_ATTR { return column(piece * kItems + i); }, store,
        piece * kItems);
}

#endif  // HWY_TARGET == HWY_AVX3_DL

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
