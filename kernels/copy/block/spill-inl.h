// Transposing blocks of short columns that are packed, per SIMD target.
#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/pieces-inl.h"
#include "kernels/copy/block/runs-inl.h"

#if defined(AXIS_BLOCK_SPILL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_SPILL_INL_H_
#undef AXIS_BLOCK_SPILL_INL_H_
#else
#define AXIS_BLOCK_SPILL_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

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
      std::min(num_b / kItems,
               WindowsWithin((batch.extent - whole) * span,
                             (kItems - 1) * run + kBytes, kItems * run));
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

// The same, of the fewest rows that there is code for.
template <int64_t kItem, int64_t kRows = kPieceBytes / kItem>
int64_t TransposeVectors(const Block& block) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  constexpr int64_t kMost = std::min(kVectorBytes, kSpillRun) / kItem;
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

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
