// Transposing small blocks that lie packed on both sides, per SIMD target.
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
  constexpr int64_t kSpan = kVectors * kPieceBytes;
  constexpr int64_t kSpans = kBytes / kPieceBytes;
  const int64_t last = block.batch.extent - kSpans;
  for (int64_t t = 0;; t = std::min(t + kSpans, last)) {
    const uint8_t* src = block.src + t * kSpan;
    uint8_t* dst = block.dst + t * kSpan;
    auto piece = [=](int64_t i) { return src + i * kPieceBytes; };
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
        StoreAt(hn::UpperHalf(half, x[i]), half, to + kSpan);
      }
    }
    if (t == last) return;
  }
}

// Transposes the repetitions of `block` if they are packed on both sides, and
// a few vectors long; else returns false.
template <int64_t kItem>
bool TransposePacked(const Block& block) {
  constexpr int64_t kBytes = std::min<int64_t>(kVectorBytes, 32);
  const int64_t span = block.num_a * block.num_b * kItem;
  if (!block.packed || block.batch.src_stride != span ||
      block.batch.dst_stride != span || block.batch.extent < kBytes / 16 ||
      !std::has_single_bit(static_cast<uint64_t>(block.num_a)) ||
      !std::has_single_bit(static_cast<uint64_t>(block.num_b)))
    return false;
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
