// Transposing blocks that have a short side, per SIMD target.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/lookup/lookup-inl.h"
#include "kernels/copy/block/pieces-inl.h"
#include "kernels/copy/block/prefetch.h"
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

// Transposes a vector of rows, `row_step` apart, times a piece of columns.
template <int64_t kBytes, int64_t kItem, class Column>
HWY_INLINE void TransposeTile(const uint8_t* src, int64_t row_step,
                              Column column) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  const VectorOf<kBytes, kItem> d;
  hn::Vec<decltype(d)> x[kItems];
  HWY_UNROLL(16)
  for (int64_t i = 0; i < kItems; ++i)
    x[i] = LoadPieces<kBytes, kItem>(
        [=](int64_t row) HWY_ATTR { return src + row * row_step; }, i, kItems);
  TransposeBlocks(d, x);
  HWY_UNROLL(16)
  for (int64_t i = 0; i < kItems; ++i) StoreAt(x[i], d, column(i));
}

// A side B of few columns is at most kFewBytes long; where they are swept, that
// long.
inline constexpr int64_t kFewSweptBytes = 512;

// Columns this far apart compete for places in the first cache; small items,
// of which a piece has many, at half of that if their rows fill lines.
inline constexpr int64_t kCompeting = 2048;

// Whether the columns are swept side by side, so that the source is read once:
// where they leave each other in the cache.
inline bool SweepsColumns(const Block& block) {
  const int64_t row = block.num_b * block.item;
  const bool wait = block.item <= 2 && row >= kLineBytes && row <= kFewBytes;
  return block.column_step % (wait ? kCompeting / 2 : kCompeting) != 0;
}

// Side B is so short that to begin a strip takes longer than to transpose it:
// each piece of it takes all of side A in one go, if they are not all swept.
// REQUIRES: row_step != 0, num_b >= kPieceItems, num_a * kItem >= kBytes.
template <int64_t kBytes, int64_t kItem>
HWY_INLINE void TransposeFewColumns(const Block& block, const uint8_t* src,
                                    uint8_t* dst, Prefetcher& prefetcher) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  constexpr int64_t kRows = kBytes / kItem;
  const int64_t row_step = block.row_step, column_step = block.column_step;
  const int64_t last_a = block.num_a - kRows, last_b = block.num_b - kItems;
  const bool prefetch = prefetcher.has_block();
  if (SweepsColumns(block)) {
    const int64_t lines = PrefetchLines(kRows, block.num_b * kItem);
    for (int64_t a = 0;; a = std::min(a + kRows, last_a)) {
      const uint8_t* from = src + a * row_step;
      Strided<uint8_t, kItems> columns(dst + a * kItem, column_step);
      int64_t b = 0;
      for (; b <= last_b; b += kItems) {
        TransposeTile<kBytes, kItem>(from, row_step, columns);
        from = Hidden(from + kPieceBytes);
        columns.Advance(kItems * column_step);
      }
      if (const int64_t back = last_b - b; back > -kItems) {
        columns.Advance(back * column_step);
        TransposeTile<kBytes, kItem>(from + back * kItem, row_step, columns);
      }
      if (prefetch) prefetcher.Prefetch(lines);
      if (a == last_a) return;
    }
  }
  for (int64_t b = 0;; b = std::min(b + kItems, last_b)) {
    uint8_t* columns[kItems];
    for (int64_t i = 0; i < kItems; ++i)
      columns[i] = dst + block.columns[b + i];
    for (int64_t a = 0;; a = std::min(a + kRows, last_a)) {
      TransposeTile<kBytes, kItem>(
          src + b * kItem + a * row_step, row_step,
          [=, &columns](int64_t i) HWY_ATTR { return columns[i] + a * kItem; });
      if (a == last_a) break;
    }
    if (b == last_b) return;
  }
}

// Side B is narrower than a piece: the loads take in what follows each row, and
// so stop short of the end of the source. Returns how many items of side A are
// done.
// REQUIRES: row_step > 0, num_b <= kPieceItems.
template <int64_t kBytes, int64_t kItem>
HWY_INLINE int64_t TransposeNarrowColumns(const Block& block,
                                          const uint8_t* src, uint8_t* dst) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  constexpr int64_t kHalf = kItems / 2;
  constexpr int64_t kRows = kBytes / kItem;
  const VectorOf<kBytes, kItem> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t num_b = block.num_b, row_step = block.row_step;
  uint8_t* columns[kItems];
  for (int64_t b = 0; b < num_b; ++b) columns[b] = dst + block.columns[b];
  const int64_t num_rows = std::min(
      block.num_a, WindowsWithin(block.src_end - src, kPieceBytes, row_step));
  if (num_rows < kRows) return 0;
  const int64_t last = num_rows - kRows;
  for (int64_t a = 0;; a = std::min(a + kRows, last)) {
    RowLoader<kBytes, kItem> rows(src + a * row_step, row_step);
    if constexpr (kItem == 1) {
      // The first round leaves out the half that is not there.
      if (num_b <= kHalf) {
        V x[kHalf];
        HWY_UNROLL(8)
        for (int64_t i = 0; i < kHalf; ++i) x[i] = rows.Next();
        HWY_UNROLL(8)
        for (int64_t i = 0; i < kHalf; ++i)
          x[i] = hn::InterleaveLower(d, x[i], rows.Next());
        TransposeBlocks(d, x);
        HWY_UNROLL(8)
        for (int64_t i = 0; i < kHalf; ++i)
          if (i < num_b) StoreAt(x[i], d, columns[i] + a * kItem);
        if (a == last) return num_rows;
        continue;
      }
    }
    V x[kItems];
    HWY_UNROLL(16)
    for (int64_t i = 0; i < kItems; ++i) x[i] = rows.Next();
    TransposeBlocks(d, x);
    HWY_UNROLL(16)
    for (int64_t i = 0; i < kItems; ++i)
      if (i < num_b) StoreAt(x[i], d, columns[i] + a * kItem);
    if (a == last) return num_rows;
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

// Repetitions at most this long, and narrower than a vector, are transposed
// together if there are a few.
inline constexpr int64_t kRepetitionBytes = 512;
inline constexpr int64_t kFewRepetitions = 4;

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

// Side A is as wide as a piece: the blocks of a vector take different columns
// instead.
// REQUIRES: num_a == kPieceItems <= kPieceItems * blocks <= num_b.
template <int64_t kBytes, int64_t kItem>
HWY_INLINE void TransposeShort(const Block& block, const uint8_t* src,
                               uint8_t* dst) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  constexpr int64_t kColumns = kBytes / kItem;
  const VectorOf<kBytes, kItem> d;
  const uint8_t* row[kItems];
  for (int64_t i = 0; i < kItems; ++i) row[i] = src + block.rows[i];
  const int64_t last = block.num_b - kColumns;
  for (int64_t b = 0;; b = std::min(b + kColumns, last)) {
    hn::Vec<decltype(d)> x[kItems];
    HWY_UNROLL(16)
    for (int64_t i = 0; i < kItems; ++i) x[i] = LoadAt(d, row[i] + b * kItem);
    TransposeBlocks(d, x);
    const int64_t* column = block.columns + b;
    StorePieces<0>(x, d, dst, column);
    if constexpr (kBytes > kPieceBytes)
      StorePieces<1>(x, d, dst, column + kItems);
    if (b == last) return;
  }
}

// Side B is narrower than a piece: the loads take in what follows each row, or
// of the last ones what scratch has of them.
template <int64_t kBytes, int64_t kItem>
HWY_INLINE void TransposeNarrowStrip(const Block& block, const uint8_t* src,
                                     int64_t a, uint8_t* dst) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  constexpr int64_t kRows = kBytes / kItem;
  const VectorOf<kBytes, kItem> d;
  const uint8_t* rows[kRows];
  uint8_t ends[kRows * kPieceBytes];
  for (int64_t i = 0; i < kRows; ++i) {
    rows[i] = src + block.rows[a + i];
    if (block.src_end - rows[i] >= kPieceBytes) continue;
    CopyRun(ends + i * kPieceBytes, rows[i], block.num_b * kItem);
    rows[i] = ends + i * kPieceBytes;
  }
  dst += a * kItem;
  hn::Vec<decltype(d)> x[kItems];
  HWY_UNROLL(16)
  for (int64_t i = 0; i < kItems; ++i)
    x[i] = LoadPieces<kBytes, kItem>(
        [&](int64_t r) HWY_ATTR { return rows[r]; }, i, kItems);
  TransposeBlocks(d, x);
  HWY_UNROLL(16)
  for (int64_t i = 0; i < kItems; ++i)
    if (i < block.num_b) StoreAt(x[i], d, dst + block.columns[i]);
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
