// Streaming to places that begin within lines, in whole ones all the same, per
// SIMD target: of instructions that look up.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/lookup/lookup-inl.h"
#include "kernels/copy/block/pieces-inl.h"

#if defined(AXIS_BLOCK_LINE_STREAM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_LINE_STREAM_INL_H_
#undef AXIS_BLOCK_LINE_STREAM_INL_H_
#else
#define AXIS_BLOCK_LINE_STREAM_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3_DL

// What lanes items are moved in: those of 16 bytes in two.
template <int64_t kItem>
using Lane = hwy::UnsignedFromSize<static_cast<size_t>(LaneBytes(kItem))>;

// 0, 1, 2 and so on: as many as two vectors have lanes.
template <class T>
struct LaneNumbers {
  static constexpr size_t kLanes = kLineBytes / sizeof(T);
  static constexpr std::array<T, 2 * kLanes> kValues = [] {
    std::array<T, 2 * kLanes> values{};
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i);
    return values;
  }();
};

// The last `bytes` of `before`, then what there is room for of `after`.
// REQUIRES: `bytes` are whole lanes.
template <class T, class V>
HWY_INLINE V JoinVectors(V before, V after, int64_t bytes) {
  const __m512i places = _mm512_loadu_si512(
      reinterpret_cast<const uint8_t*>(LaneNumbers<T>::kValues.data()) +
      kLineBytes - bytes);
  if constexpr (sizeof(T) == 1)
    return V{_mm512_permutex2var_epi8(before.raw, places, after.raw)};
  if constexpr (sizeof(T) == 2)
    return V{_mm512_permutex2var_epi16(before.raw, places, after.raw)};
  if constexpr (sizeof(T) == 4)
    return V{_mm512_permutex2var_epi32(before.raw, places, after.raw)};
  if constexpr (sizeof(T) == 8)
    return V{_mm512_permutex2var_epi64(before.raw, places, after.raw)};
}

// Stores those bytes of `x` that `which` has a bit for.
template <class V>
HWY_INLINE void StoreBytes(V x, uint64_t which, uint8_t* to) {
  _mm512_mask_storeu_epi8(to, which, x.raw);
}

// Streams vectors to one place after the other: what there is of a line is kept
// until the rest of it is there, so that only the first and the last are
// written in parts, and not streamed.
template <class T>
class LineStream {
 public:
  LineStream() = default;

  // REQUIRES: `to` is a multiple of sizeof(T).
  HWY_INLINE explicit LineStream(uint8_t* to)
      : kept_(hn::Zero(Bytes())),
        shift_(PlaceInLine(to)),
        line_(to - shift_),
        which_(~uint64_t{0} << shift_) {}

  // Goes on at `to`.
  HWY_INLINE void Begin(uint8_t* to) {
    if (to == line_ + shift_) return;
    End();
    *this = LineStream(to);
  }

  HWY_INLINE void Put(BytesVec x) {
    PutLine(JoinVectors<T>(kept_, x, shift_));
    kept_ = x;
  }

  // Writes the first `bytes` of `x`, whole lanes, less than a vector.
  HWY_INLINE void PutPart(BytesVec x, int64_t bytes) {
    if (shift_ + bytes >= kLineBytes) PutLine(JoinVectors<T>(kept_, x, shift_));
    kept_ = JoinVectors<T>(kept_, x, kLineBytes - bytes);
    shift_ = (shift_ + bytes) % kLineBytes;
  }

  // Writes the first `bytes` of `x`, whole lanes, as far as there are so many.
  HWY_INLINE void PutUpTo(BytesVec x, int64_t bytes) {
    if (bytes >= kLineBytes) {
      Put(x);
    } else if (bytes > 0) {
      PutPart(x, bytes);
    }
  }

  HWY_INLINE void End() const {
    const uint64_t which = which_ & ((uint64_t{1} << shift_) - 1);
    // A line that is not ours may have been streamed.
    if (which != 0)
      StoreBytes(JoinVectors<T>(kept_, kept_, shift_), which, line_);
  }

 private:
  HWY_INLINE void PutLine(BytesVec x) {
    if (which_ == ~uint64_t{0}) {
      StoreAt<true>(x, Bytes(), line_);
    } else {
      StoreBytes(x, which_, line_);
      which_ = ~uint64_t{0};
    }
    line_ += kLineBytes;
  }

  BytesVec kept_;  // ends with what there is of the line
  int64_t shift_;  // so many bytes
  uint8_t* line_;
  uint64_t which_;  // bytes of the line are ours
};

#endif  // HWY_TARGET == HWY_AVX3_DL

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
