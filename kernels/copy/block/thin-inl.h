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

// Transposes columns of at most kRows items, in repetitions that follow one
// another or in one, as far as there is room for vectors; returns the number of
// columns, of all repetitions. Rows of a second piece are inserted only where
// there may be any: that is most of the work.
template <int64_t kItem, int64_t kRows>
int64_t TransposeVectorsOf(const Block& block) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  constexpr int64_t kBytes = kRows > kItems ? 2 * kPieceBytes : kPieceBytes;
  const VectorOf<kBytes, kItem> d;
  const VectorOf<kPieceBytes, kItem> piece;
  const Loop batch = block.batch;
  const int64_t num_b = block.num_b, run = block.num_a * kItem;
  const uint8_t* rows[kRows];
  int64_t left_src = block.src_end - block.src;
  for (int64_t i = 0; i < kRows; ++i) {
    rows[i] = block.src + block.rows[std::min(i, block.num_a - 1)];
    left_src = std::min(left_src, block.src_end - rows[i]);
  }
  // Whole repetitions, and then whole pieces of one.
  const int64_t pieces = (num_b + kItems - 1) / kItems;
  const int64_t span = num_b * run;
  const int64_t whole =
      std::min({batch.extent,
                WindowsWithin(left_src, pieces * kPieceBytes,
                              std::max<int64_t>(1, batch.src_stride)),
                WindowsWithin(batch.extent * span, span - run + kBytes, span)});
  const int64_t some =
      kItems *
      std::min({num_b / kItems,
                WindowsWithin(left_src - whole * batch.src_stride, kPieceBytes,
                              kPieceBytes),
                WindowsWithin((batch.extent - whole) * span,
                              (kItems - 1) * run + kBytes, kItems * run)});
  uint8_t* dst = block.dst;
  for (int64_t t = 0; t <= whole; ++t) {
    int64_t at = t * batch.src_stride;
    for (int64_t left = t < whole ? num_b : some; left > 0; left -= kItems) {
      auto row = [=, &rows](int64_t i) HWY_ATTR { return rows[i] + at; };
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
      at += kPieceBytes;
    }
  }
  return whole * num_b + some;
}

template <int64_t kItem, int64_t kRows = kPieceBytes / kItem>
int64_t TransposeVectors(const Block& block) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  constexpr int64_t kMost = std::min<int64_t>(kVectorBytes / kItem, 2 * kItems);
  // Once, twice, ... as many rows of a second piece.
  constexpr int64_t kMore = kRows == kItems ? kItems + 1 : 2 * kRows - kItems;
  if constexpr (kRows < kMost)
    if (block.num_a > kRows) return TransposeVectors<kItem, kMore>(block);
  return TransposeVectorsOf<kItem, kRows>(block);
}

// Columns are short and packed: vectors are stored whole, and what they spill
// over into is written later.
// REQUIRES: packed, num_a * kItem <= min(kVectorBytes, kSpillRun).
template <int64_t kItem>
void TransposeSpilling(const Block& block) {
  const Loop batch = block.batch;
  Block part = block;
  if (batch.extent > 1 &&
      batch.dst_stride != block.num_a * block.num_b * kItem) {
    part.batch.extent = 1;
    for (int64_t t = 0; t < batch.extent; ++t) {
      TransposeSpilling<kItem>(part);
      part.src += batch.src_stride;
      part.dst += batch.dst_stride;
    }
    return;
  }
  // The end of the source or the destination is left.
  const int64_t done = TransposeVectors<kItem>(block);
  part.batch.extent = 1;
  for (int64_t t = done / block.num_b, b = done % block.num_b; t < batch.extent;
       ++t, b = 0) {
    part.src = block.src + t * batch.src_stride + b * kItem;
    part.dst = block.dst + t * batch.dst_stride;
    part.columns = block.columns + b;
    part.num_b = block.num_b - b;
    MoveRows(part);
  }
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
    if (run == kPieceBytes) {
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
