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

// `at`, but hidden from the compiler: it would work out the addresses of all
// rows beforehand, and has no registers for so many.
template <class Byte>
HWY_INLINE Byte* Hidden(Byte* at) {
  asm volatile("" : "+r"(at));
  return at;
}

// Loads rows that are `step` apart in their order, a piece of each: into each
// block of a vector one of every kPieceItems-th.
template <int64_t kBytes, int64_t kItem>
class RowLoader {
 public:
  HWY_INLINE RowLoader(const uint8_t* src, int64_t step) : step_(step) {
    for (int64_t i = 0; i < kBlocks; ++i)
      at_[i] = src + i * (kPieceBytes / kItem) * step;
  }

  HWY_INLINE auto Next() {
    const auto x = LoadPieces<kBytes, kItem>(
        [this](int64_t i) HWY_ATTR { return at_[i]; }, 0, 1);
    for (const uint8_t*& at : at_) at = Hidden(at + step_);
    return x;
  }

 private:
  static constexpr int64_t kBlocks = kBytes / kPieceBytes;

  const int64_t step_;
  const uint8_t* at_[kBlocks];
};

// So many addresses, each `step` from the one before, that go on together.
template <class Byte, int64_t kCount>
class Strided {
 public:
  HWY_INLINE Strided(Byte* first, int64_t step) : step_(step) {
    for (Byte*& at : groups_) {
      at = first;
      first += kGroup * step;
    }
  }

  HWY_INLINE Byte* operator()(int64_t i) const {
    return groups_[i / kGroup] + i % kGroup * step_;
  }

  HWY_INLINE void Advance(int64_t bytes) {
    for (Byte*& at : groups_) at = Hidden(at + bytes);
  }

 private:
  // What an instruction can add to one address.
  static constexpr int64_t kGroup = std::min<int64_t>(kCount, 8);

  const int64_t step_;
  Byte* groups_[kCount / kGroup];
};

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

// Loads a piece of each of as many rows as kItems vectors of kBytes hold, and
// transposes them: rows that are `step` apart, from `src` on.
template <int64_t kBytes, int64_t kItem, size_t kItems, class V>
HWY_INLINE void LoadTransposed(const uint8_t* src, int64_t step,
                               V (&x)[kItems]) {
  RowLoader<kBytes, kItem> rows(src, step);
  HWY_UNROLL(16)
  for (V& each : x) each = rows.Next();
  TransposeBlocks(VectorOf<kBytes, kItem>(), x);
}

// As TransposePieces() of rows and columns that follow one another, of which
// there are more than registers: one address goes from each to the next.
template <int64_t kBytes, int64_t kItem, int64_t kParts, class Store>
HWY_INLINE void TransposeInOrder(const uint8_t* src, int64_t row_step,
                                 uint8_t* dst, int64_t column_step,
                                 const Store& store) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  const VectorOf<kBytes, kItem> d;
  hn::Vec<decltype(d)> x[kItems], y[kItems];
  LoadTransposed<kBytes, kItem>(src, row_step, x);
  if constexpr (kParts == 2)
    LoadTransposed<kBytes, kItem>(src + kBytes / kItem * row_step, row_step, y);
  HWY_UNROLL(16)
  for (int64_t i = 0; i < kItems; ++i) {
    store.Put(i, x[i], d, dst);
    if constexpr (kParts == 2) store.Put(i, y[i], d, dst + kBytes);
    dst = Hidden(dst + column_step);
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
