// Runs that begin within lines and are streamed in whole ones all the same, per
// SIMD target: of instructions that look up.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/lookup-inl.h"
#include "kernels/copy/block/pieces-inl.h"

#if defined(AXIS_BLOCK_LINES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_LINES_INL_H_
#undef AXIS_BLOCK_LINES_INL_H_
#else
#define AXIS_BLOCK_LINES_INL_H_
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

  HWY_INLINE void End() const {
    StoreBytes(JoinVectors<T>(kept_, kept_, shift_),
               which_ & ((uint64_t{1} << shift_) - 1), line_);
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

// Interleaves kRows rows as InterleaveLines() does, but streams them wherever
// repetitions start.
template <int64_t kItem, int64_t kRows>
void InterleaveRealigned(const Block& block) {
  const Shuffler<kRows> shuffle(Interleaving<kItem, kRows>::kTogether.data());
  const int64_t run = block.num_b * kItem;
  const int64_t whole = run / kLineBytes * kLineBytes;
  const auto rest = hn::FirstN(Bytes(), static_cast<size_t>(run - whole));
  int64_t rows[kRows];
  std::copy_n(block.rows, kRows, rows);
  const Loop batch = block.batch;
  LineStream<Lane<kItem>> stream(block.dst);
  for (int64_t t = 0; t < batch.extent; ++t) {
    const uint8_t* const src = block.src + t * batch.src_stride;
    stream.Begin(block.dst + t * batch.dst_stride);
    for (int64_t at = 0; at < whole; at += kLineBytes)
      shuffle([&](int64_t a)
                  HWY_ATTR { return hn::LoadU(Bytes(), src + rows[a] + at); },
              [&](int64_t, BytesVec x) HWY_ATTR { stream.Put(x); });
    if (whole == run) continue;
    int64_t left = (run - whole) * kRows;
    shuffle(
        [&](int64_t a) HWY_ATTR {
          return hn::MaskedLoad(rest, Bytes(), src + rows[a] + whole);
        },
        [&](int64_t, BytesVec x) HWY_ATTR {
          if (left >= kLineBytes) {
            stream.Put(x);
          } else if (left > 0) {
            stream.PutPart(x, left);
          }
          left -= kLineBytes;
        });
  }
  stream.End();
}

// Returns false where lines are not put together.
template <int64_t kItem>
bool InterleaveInLines(const Block& block) {
  if (!block.realigns) return false;
  WithConstant(block.num_a, [&](auto rows) HWY_ATTR {
    InterleaveRealigned<kItem, rows()>(block);
  });
  return true;
}

#else

template <int64_t kItem>
bool InterleaveInLines(const Block&) {
  return false;
}

#endif  // HWY_TARGET == HWY_AVX3_DL

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
