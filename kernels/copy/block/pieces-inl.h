// Vectors of pieces: what transpositions are made of, per SIMD target.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/copy/block/runs-inl.h"

#if defined(AXIS_BLOCK_PIECES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_PIECES_INL_H_
#undef AXIS_BLOCK_PIECES_INL_H_
#else
#define AXIS_BLOCK_PIECES_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

// A piece is the 16 bytes of a row that a tile is wide. Vectors hold one in
// each of their 128-bit blocks, so that nothing ever crosses those.
inline constexpr int64_t kPieceBytes = 16;

// How many windows of `size`, `step` apart, end within `bytes`.
constexpr int64_t WindowsWithin(int64_t bytes, int64_t size, int64_t step) {
  return bytes < size ? 0 : (bytes - size) / step + 1;
}

// Vectors of kBytes. 16-byte items need no lanes of their own: they only move.
template <int64_t kBytes, int64_t kItem>
using VectorOf = hn::FixedTag<
    hwy::UnsignedFromSize<static_cast<size_t>(std::min<int64_t>(kItem, 8))>,
    static_cast<size_t>(kBytes / std::min<int64_t>(kItem, 8))>;

template <class D>
HWY_INLINE hn::Vec<D> LoadAt(D d, const uint8_t* from) {
  return hn::LoadU(d, reinterpret_cast<const hn::TFromD<D>*>(from));
}

template <bool kStream = false, class D>
HWY_INLINE void StoreAt(hn::Vec<D> x, D d, uint8_t* to) {
  if constexpr (kStream) {
    hn::Stream(x, d, reinterpret_cast<hn::TFromD<D>*>(to));
  } else {
    hn::StoreU(x, d, reinterpret_cast<hn::TFromD<D>*>(to));
  }
}

// Loads a piece into each block of a vector: from row(i), row(i + gap), ...
template <int64_t kBytes, int64_t kItem, class Row>
HWY_INLINE auto LoadPieces(Row row, int64_t i, int64_t gap) {
  const VectorOf<kBytes, kItem> d;
  if constexpr (kBytes == kPieceBytes) {
    return LoadAt(d, row(i));
  } else {
    return hn::Combine(
        d, LoadPieces<kBytes / 2, kItem>(row, i + gap * (kBytes / 32), gap),
        LoadPieces<kBytes / 2, kItem>(row, i, gap));
  }
}

// Transposes kItems vectors of kItems items a block, in every block: log2
// rounds of perfect shuffles of the whole rotate the bits of an item's place
// until row and column have changed roles.
template <size_t kRound = 1, size_t kItems, class D, class V>
HWY_INLINE void TransposeBlocks(D d, V (&x)[kItems]) {
  if constexpr (kRound < kItems) {
    V y[kItems];
    HWY_UNROLL(16)
    for (size_t i = 0; i < kItems / 2; ++i) {
      y[2 * i] = hn::InterleaveLower(d, x[i], x[i + kItems / 2]);
      y[2 * i + 1] = hn::InterleaveUpper(d, x[i], x[i + kItems / 2]);
    }
    TransposeBlocks<kRound * 2>(d, y);
    HWY_UNROLL(16)
    for (size_t i = 0; i < kItems; ++i) x[i] = y[i];
  }
}

// Transposes a piece of each row to a run of kParts * kBytes in as many columns
// as it has items, where `store` puts them: as the columns from `first` on.
template <int64_t kBytes, int64_t kItem, int64_t kParts, class Row,
          class Column, class Store>
HWY_INLINE void TransposePieces(Row row, Column column, const Store& store,
                                int64_t first = 0) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  const VectorOf<kBytes, kItem> d;
  hn::Vec<decltype(d)> x[kItems], y[kItems];
  HWY_UNROLL(16)
  for (int64_t i = 0; i < kItems; ++i)
    x[i] = LoadPieces<kBytes, kItem>(row, i, kItems);
  TransposeBlocks(d, x);
  if constexpr (kParts == 2) {
    HWY_UNROLL(16)
    for (int64_t i = 0; i < kItems; ++i)
      y[i] = LoadPieces<kBytes, kItem>(row, kBytes / kItem + i, kItems);
    TransposeBlocks(d, y);
  }
  HWY_UNROLL(16)
  for (int64_t i = 0; i < kItems; ++i) {
    uint8_t* const to = column(i);
    store.Put(first + i, x[i], d, to);
    if constexpr (kParts == 2) store.Put(first + i, y[i], d, to + kBytes);
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
