// Transposing small blocks that are packed in the destination, per SIMD target.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/pieces-inl.h"

#if defined(AXIS_BLOCK_PACKED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_PACKED_INL_H_
#undef AXIS_BLOCK_PACKED_INL_H_
#else
#define AXIS_BLOCK_PACKED_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

template <int64_t kItem>
bool TransposePacked(const Block&) {
  return false;
}

#else

// As TransposeBlocks(), but for blocks of 2^rounds rows: each perfect shuffle
// of all items rotates the bits of an item's place by one, until those of the
// row come last. Every block of a vector takes another repetition.
template <int64_t kBytes, int64_t kItem, size_t kVectors>
void TransposePackedBy(const Block& block, int rounds) {
  const VectorOf<kBytes, kItem> d;
  constexpr int64_t kSpans = kBytes / kPieceBytes;
  const Loop batch = block.batch;
  // Where the pieces of one repetition lie: within rows, or rows that are
  // shorter follow one another.
  const int64_t row_bytes = block.num_b * kItem;
  int64_t places[kVectors];
  for (int64_t i = 0; i < int64_t{kVectors}; ++i) {
    const int64_t at = i * kPieceBytes;
    places[i] = block.rows[at / row_bytes] + at % row_bytes;
  }
  const int64_t last = batch.extent - kSpans;
  for (int64_t t = 0;; t = std::min(t + kSpans, last)) {
    const uint8_t* src = block.src + t * batch.src_stride;
    uint8_t* dst = block.dst + t * batch.dst_stride;
    auto piece = [&](int64_t i) HWY_ATTR {
      constexpr int64_t kPieces = kVectors;
      return src + i / kPieces * batch.src_stride + places[i % kPieces];
    };
    hn::Vec<decltype(d)> x[kVectors], y[kVectors];
    HWY_UNROLL(8)
    for (size_t i = 0; i < kVectors; ++i)
      x[i] =
          LoadPieces<kBytes, kItem>(piece, static_cast<int64_t>(i), kVectors);
    for (int round = 0; round < rounds; ++round) {
      HWY_UNROLL(4)
      for (size_t i = 0; i < kVectors / 2; ++i) {
        y[2 * i] = hn::InterleaveLower(d, x[i], x[i + kVectors / 2]);
        y[2 * i + 1] = hn::InterleaveUpper(d, x[i], x[i + kVectors / 2]);
      }
      HWY_UNROLL(8)
      for (size_t i = 0; i < kVectors; ++i) x[i] = y[i];
    }
    HWY_UNROLL(8)
    for (size_t i = 0; i < kVectors; ++i) {
      uint8_t* const to = dst + i * kPieceBytes;
      if constexpr (kSpans == 1) {
        StoreAt(x[i], d, to);
      } else {
        const hn::Half<decltype(d)> half;
        StoreAt(hn::LowerHalf(half, x[i]), half, to);
        StoreAt(hn::UpperHalf(half, x[i]), half, to + batch.dst_stride);
      }
    }
    if (t == last) return;
  }
}

// Transposes the repetitions of `block` if they are powers of two, a few
// vectors long, and packed in the destination; else returns false.
template <int64_t kItem>
bool TransposePacked(const Block& block) {
  constexpr int64_t kBytes = std::min<int64_t>(kVectorBytes, 32);
  const int64_t span = block.num_a * block.num_b * kItem;
  if (!block.packed || block.batch.extent < kBytes / kPieceBytes ||
      !FitsVectors(block.num_a, block.num_b, kItem))
    return false;
  if (block.num_b * kItem < kPieceBytes)
    for (int64_t a = 0; a < block.num_a; ++a)
      if (block.rows[a] != a * block.num_b * kItem) return false;
  const int rounds = std::countr_zero(static_cast<uint64_t>(block.num_a));
  switch (span / kPieceBytes) {
    case 2:
      return TransposePackedBy<kBytes, kItem, 2>(block, rounds), true;
    case 4:
      return TransposePackedBy<kBytes, kItem, 4>(block, rounds), true;
    case 8:
      return TransposePackedBy<kBytes, kItem, 8>(block, rounds), true;
    default:
      return false;
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
