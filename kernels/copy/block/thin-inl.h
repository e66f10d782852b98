// Transposing blocks that have a short side, per SIMD target.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/pieces-inl.h"
#include "kernels/copy/block/runs-inl.h"

#if defined(AXIS_BLOCK_THIN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_THIN_INL_H_
#undef AXIS_BLOCK_THIN_INL_H_
#else
#define AXIS_BLOCK_THIN_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

// Side B is so short that to begin a strip takes longer than to transpose it:
// each piece of it takes all of side A in one go.
// REQUIRES: row_step != 0, num_b >= kPieceItems, num_a * kItem >= kBytes.
template <int64_t kBytes, int64_t kItem>
HWY_INLINE void TransposeFewColumns(const Block& block, const uint8_t* src,
                                    uint8_t* dst) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  constexpr int64_t kRows = kBytes / kItem;
  const VectorOf<kBytes, kItem> d;
  const int64_t row_step = block.row_step;
  const int64_t last_a = block.num_a - kRows, last_b = block.num_b - kItems;
  for (int64_t b = 0;; b = std::min(b + kItems, last_b)) {
    uint8_t* columns[kItems];
    for (int64_t i = 0; i < kItems; ++i)
      columns[i] = dst + block.columns[b + i];
    for (int64_t a = 0;; a = std::min(a + kRows, last_a)) {
      const uint8_t* const from = src + b * kItem + a * row_step;
      hn::Vec<decltype(d)> x[kItems];
      HWY_UNROLL(16)
      for (int64_t i = 0; i < kItems; ++i)
        x[i] = LoadPieces<kBytes, kItem>(
            [=](int64_t row) HWY_ATTR { return from + row * row_step; }, i,
            kItems);
      TransposeBlocks(d, x);
      HWY_UNROLL(16)
      for (int64_t i = 0; i < kItems; ++i)
        StoreAt(x[i], d, columns[i] + a * kItem);
      if (a == last_a) break;
    }
    if (b == last_b) return;
  }
}

// Transposes the piece of items a to a + kPieceItems, b to b + kPieceItems of
// each repetition.
template <int64_t kItem>
HWY_INLINE void TransposePieces(const Block& block, int64_t a, int64_t b) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  const VectorOf<kPieceBytes, kItem> d;
  const Loop batch = block.batch;
  const uint8_t* rows[kItems];
  uint8_t* columns[kItems];
  for (int64_t i = 0; i < kItems; ++i) {
    rows[i] = block.src + block.rows[a + i] + b * kItem;
    columns[i] = block.dst + block.columns[b + i] + a * kItem;
  }
  for (int64_t t = 0; t < batch.extent; ++t) {
    hn::Vec<decltype(d)> x[kItems];
    HWY_UNROLL(16)
    for (int64_t i = 0; i < kItems; ++i)
      x[i] = LoadAt(d, rows[i] + t * batch.src_stride);
    TransposeBlocks(d, x);
    HWY_UNROLL(16)
    for (int64_t i = 0; i < kItems; ++i)
      StoreAt(x[i], d, columns[i] + t * batch.dst_stride);
  }
}

// So much stays in the first cache until its last piece is transposed.
inline constexpr int64_t kTogetherBytes = 4096;

// Repetitions are so short that to begin a strip takes longer than to transpose
// it: each piece is transposed in some of them before the next.
// REQUIRES: num_a >= kPieceItems, num_b >= kPieceItems.
template <int64_t kItem>
void TransposeTogether(const Block& block) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  const int64_t last_a = block.num_a - kItems, last_b = block.num_b - kItems;
  const int64_t step = kTogetherBytes / (block.num_a * block.num_b * kItem);
  Block some = block;
  for (int64_t left = block.batch.extent; left > 0; left -= step) {
    some.batch.extent = std::min(step, left);
    for (int64_t b = 0;; b = std::min(b + kItems, last_b)) {
      for (int64_t a = 0;; a = std::min(a + kItems, last_a)) {
        TransposePieces<kItem>(some, a, b);
        if (a == last_a) break;
      }
      if (b == last_b) break;
    }
    some.src += step * block.batch.src_stride;
    some.dst += step * block.batch.dst_stride;
  }
}

// How many windows of `size`, `step` apart, end within `bytes`.
constexpr int64_t WindowsWithin(int64_t bytes, int64_t size, int64_t step) {
  return bytes < size ? 0 : (bytes - size) / step + 1;
}

// As TransposeSpilling(), with columns of at most kRows items. Those of a
// second piece are inserted only where there may be any: that is most of the
// work.
template <int64_t kItem, int64_t kRows>
int64_t TransposeSpillingBy(const Block& block) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  constexpr int64_t kBytes = kRows > kItems ? 2 * kPieceBytes : kPieceBytes;
  const VectorOf<kBytes, kItem> d;
  const VectorOf<kPieceBytes, kItem> piece;
  const Loop batch = block.batch;
  const int64_t num_b = block.num_b, row_step = block.row_step;
  const int64_t run = block.num_a * kItem;
  const int64_t pieces = (num_b + kItems - 1) / kItems;
  const int64_t done =
      std::min({batch.extent,
                WindowsWithin(block.src_end - block.src,
                              (kRows - 1) * row_step + pieces * kPieceBytes,
                              batch.src_stride),
                WindowsWithin(batch.extent * batch.dst_stride,
                              (num_b - 1) * run + kBytes, batch.dst_stride)});
  const int64_t skip = batch.src_stride - pieces * kPieceBytes;
  const uint8_t* src = block.src;
  uint8_t* dst = block.dst;
  for (int64_t t = 0; t < done; ++t, src += skip) {
    for (int64_t left = num_b; left > 0; left -= kItems, src += kPieceBytes) {
      auto row = [=](int64_t i) HWY_ATTR { return src + i * row_step; };
      hn::Vec<decltype(d)> x[kItems];
      HWY_UNROLL(16)
      for (int64_t i = 0; i < kItems; ++i) {
        if constexpr (kRows == kItems) {
          x[i] = LoadAt(piece, row(i));
        } else {
          x[i] = kItems + i < kRows
                     ? LoadPieces<kBytes, kItem>(row, i, kItems)
                     : hn::ZeroExtendVector(d, LoadAt(piece, row(i)));
        }
      }
      TransposeBlocks(d, x);
      HWY_UNROLL(16)
      for (int64_t i = 0; i < kItems; ++i) {
        if (i >= left) break;
        StoreAt(x[i], d, dst);
        dst += run;
      }
    }
  }
  return done;
}

// Transposes repetitions that are packed in the destination, and follow one
// another there, with short columns: vectors are stored whole, and what they
// spill over into is written later. Returns how many are done: where the source
// or the destination ends, there may be no room for vectors.
// REQUIRES: row_step > 0, batch.src_stride > 0,
//           num_a * kItem <= min(kVectorBytes, 32).
template <int64_t kItem, int64_t kRows = kPieceBytes / kItem>
int64_t TransposeSpilling(const Block& block) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  constexpr int64_t kMost = std::min<int64_t>(kVectorBytes / kItem, 2 * kItems);
  // Once, twice, ... as many rows of a second piece.
  constexpr int64_t kMore = kRows == kItems ? kItems + 1 : 2 * kRows - kItems;
  if constexpr (kRows < kMost)
    if (block.num_a > kRows) return TransposeSpilling<kItem, kMore>(block);
  return TransposeSpillingBy<kItem, kRows>(block);
}

// Stores the kBlock-th 128 bits of each vector.
template <int kBlock, class D, class V, size_t kItems>
HWY_INLINE void StorePieces(const V (&x)[kItems], D d, uint8_t* dst,
                            const int64_t* columns) {
  if constexpr (sizeof(hn::TFromD<D>) * hn::MaxLanes(D()) == kPieceBytes) {
    HWY_UNROLL(16)
    for (size_t i = 0; i < kItems; ++i) StoreAt(x[i], d, dst + columns[i]);
  } else {
    const hn::Half<D> half;
    HWY_UNROLL(16)
    for (size_t i = 0; i < kItems; ++i)
      StoreAt(
          kBlock == 0 ? hn::LowerHalf(half, x[i]) : hn::UpperHalf(half, x[i]),
          half, dst + columns[i]);
  }
}

// Side A is narrower than a piece, or just as wide: the blocks of a vector
// take different columns instead.
// REQUIRES: num_a <= kPieceItems <= kPieceItems * blocks <= num_b.
template <int64_t kBytes, int64_t kItem>
HWY_INLINE void TransposeShort(const Block& block, const uint8_t* src,
                               uint8_t* dst) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  constexpr int64_t kColumns = kBytes / kItem;
  const VectorOf<kBytes, kItem> d;
  const int64_t run = block.num_a * kItem;
  const uint8_t* row[kItems];
  for (int64_t i = 0; i < kItems; ++i)
    row[i] = src + block.rows[std::min(i, block.num_a - 1)];
  const int64_t last = block.num_b - kColumns;
  for (int64_t b = 0;; b = std::min(b + kColumns, last)) {
    hn::Vec<decltype(d)> x[kItems];
    HWY_UNROLL(16)
    for (int64_t i = 0; i < kItems; ++i) x[i] = LoadAt(d, row[i] + b * kItem);
    TransposeBlocks(d, x);
    // Whole pieces spill over into the next columns, which are written later.
    if (run == kPieceBytes || (block.packed && b + kColumns + kItems <= last)) {
      const int64_t* column = block.columns + b;
      StorePieces<0>(x, d, dst, column);
      if constexpr (kBytes > kPieceBytes)
        StorePieces<1>(x, d, dst, column + kItems);
    } else {
      HWY_ALIGN uint8_t pieces[kItems][kBytes];
      HWY_UNROLL(16)
      for (int64_t i = 0; i < kItems; ++i) StoreAt(x[i], d, pieces[i]);
      for (int64_t i = 0; i < kColumns; ++i)
        CopyShort(dst + block.columns[b + i],
                  pieces[i % kItems] + i / kItems * kPieceBytes, run);
    }
    if (b == last) return;
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
