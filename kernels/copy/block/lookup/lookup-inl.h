// Looking bytes up in up to four vectors at once: what instructions of
// AVX-512 VBMI do in one or two steps, shuffles within 128 bits do in many.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/pieces-inl.h"
#include "kernels/copy/block/runs-inl.h"

#if defined(AXIS_BLOCK_LOOKUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_LOOKUP_INL_H_
#undef AXIS_BLOCK_LOOKUP_INL_H_
#else
#define AXIS_BLOCK_LOOKUP_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3_DL

inline constexpr bool kHasLookup = true;

using Bytes = hn::ScalableTag<uint8_t>;
using BytesVec = hn::Vec<Bytes>;

// Which byte of kVectors vectors each byte of as many others is.
template <int64_t kVectors>
using Places = std::array<uint8_t, static_cast<size_t>(kVectors* kLineBytes)>;

// Looks `places` up in `x`: 7 bits name a byte of two vectors, the eighth bit
// says of which two.
template <size_t kVectors>
HWY_INLINE BytesVec LookUp(const BytesVec (&x)[kVectors], BytesVec places) {
  if constexpr (kVectors == 1)
    return {_mm512_permutexvar_epi8(places.raw, x[0].raw)};
  if constexpr (kVectors > 1) {
    const __m512i low =
        _mm512_permutex2var_epi8(x[0].raw, places.raw, x[1].raw);
    if constexpr (kVectors == 2) return {low};
    if constexpr (kVectors > 2) {
      const __m512i high =
          _mm512_permutex2var_epi8(x[2].raw, places.raw, x[kVectors - 1].raw);
      return {
          _mm512_mask_blend_epi8(_mm512_movepi8_mask(places.raw), low, high)};
    }
  }
}

// Makes kVectors vectors, `store(i, vector)`, of as many that `load(i)` gives.
template <int64_t kVectors>
class Shuffler {
 public:
  explicit Shuffler(const uint8_t* places) {
    for (int64_t i = 0; i < kVectors; ++i)
      places_[i] = hn::LoadU(Bytes(), places + i * kLineBytes);
  }

  template <class Load, class Store>
  HWY_INLINE void operator()(Load load, Store store) const {
    BytesVec x[kVectors];
    HWY_UNROLL(4)
    for (int64_t i = 0; i < kVectors; ++i) x[i] = load(i);
    HWY_UNROLL(4)
    for (int64_t i = 0; i < kVectors; ++i) store(i, LookUp(x, places_[i]));
  }

  // Makes the `i`-th only.
  template <class Load>
  HWY_INLINE BytesVec One(int64_t i, Load load) const {
    BytesVec x[kVectors];
    HWY_UNROLL(4)
    for (int64_t k = 0; k < kVectors; ++k) x[k] = load(k);
    return LookUp(x, places_[i]);
  }

 private:
  BytesVec places_[kVectors];
};

// The items of kRows rows, one of each after the other; and back.
template <int64_t kItem, int64_t kRows>
struct Interleaving {
  static constexpr Places<kRows> Make(bool interleaved) {
    Places<kRows> places{};
    size_t at = 0;
    for (int64_t i = 0; i < kLineBytes; i += kItem)
      for (int64_t row = 0; row < kRows; ++row)
        for (int64_t byte = 0; byte < kItem; ++byte, ++at) {
          const auto apart = static_cast<size_t>(row * kLineBytes + i + byte);
          places[interleaved ? at : apart] =
              static_cast<uint8_t>(interleaved ? apart : at);
        }
    return places;
  }
  static constexpr Places<kRows> kTogether = Make(true);
  static constexpr Places<kRows> kApart = Make(false);
};

// Calls f(i) for i = 0, kLineBytes, 2 * kLineBytes, ..., and last(i) for one
// more that ends at `bytes`, if they are not whole lines.
// REQUIRES: bytes >= kLineBytes.
template <class F, class Last>
HWY_INLINE void ForEachLine(int64_t bytes, F f, Last last) {
  int64_t i = 0;
  for (; i + kLineBytes <= bytes; i += kLineBytes) f(i);
  if (i < bytes) last(bytes - kLineBytes);
}

// REQUIRES: block.packed, num_a == kRows, num_b * kItem >= kLineBytes;
//           if kStream, all repetitions start at a line of the destination.
template <int64_t kItem, int64_t kRows, bool kStream>
void InterleaveLines(const Block& block) {
  const Shuffler<kRows> shuffle(Interleaving<kItem, kRows>::kTogether.data());
  const int64_t run = block.num_b * kItem;
  int64_t rows[kRows];
  std::copy_n(block.rows, kRows, rows);
  // A line that has just been streamed must not be touched again: it would be
  // waited for until it is in memory, and read back.
  const bool in_lines = kStream && run * kRows % kLineBytes == 0;
  const int64_t streamed =
      in_lines ? kRows - run % kLineBytes * kRows / kLineBytes : 0;
  const Loop batch = block.batch;
  for (int64_t t = 0; t < batch.extent; ++t) {
    const uint8_t* src = block.src + t * batch.src_stride;
    uint8_t* dst = block.dst + t * batch.dst_stride;
    auto interleave = [&](int64_t at, int64_t first, auto stream) HWY_ATTR {
      shuffle([&](int64_t a)
                  HWY_ATTR { return hn::LoadU(Bytes(), src + rows[a] + at); },
              [&](int64_t i, BytesVec x) HWY_ATTR {
                uint8_t* const to = dst + at * kRows + i * kLineBytes;
                if (i >= first) StoreAt<stream()>(x, Bytes(), to);
              });
    };
    constexpr std::bool_constant<kStream> kStreamed;
    ForEachLine(
        run, [&](int64_t at) HWY_ATTR { interleave(at, 0, kStreamed); },
        [&](int64_t at) HWY_ATTR {
          in_lines ? interleave(at, streamed, kStreamed)
                   : interleave(at, 0, std::false_type());
        });
  }
}

// REQUIRES: rows[a] == a * kRows * kItem, num_b == kRows,
//           num_a * kItem >= kLineBytes.
template <int64_t kItem, int64_t kRows>
void DeinterleaveLines(const Block& block) {
  const Shuffler<kRows> shuffle(Interleaving<kItem, kRows>::kApart.data());
  const int64_t run = block.num_a * kItem;
  int64_t columns[kRows];
  std::copy_n(block.columns, kRows, columns);
  const Loop batch = block.batch;
  for (int64_t t = 0; t < batch.extent; ++t) {
    const uint8_t* src = block.src + t * batch.src_stride;
    uint8_t* dst = block.dst + t * batch.dst_stride;
    auto take_apart = [&](int64_t at) HWY_ATTR {
      shuffle(
          [&](int64_t i) HWY_ATTR {
            return hn::LoadU(Bytes(), src + at * kRows + i * kLineBytes);
          },
          [&](int64_t b, BytesVec x)
              HWY_ATTR { hn::StoreU(x, Bytes(), dst + columns[b] + at); });
    };
    ForEachLine(run, take_apart, take_apart);
  }
}

template <int64_t kVectors>
void ShuffleSteps(const uint8_t* src, uint8_t* dst, int64_t bytes, int64_t step,
                  const uint8_t* places) {
  const Shuffler<kVectors> shuffle(places);
  auto shuffle_step = [&](const uint8_t* from, uint8_t* to) HWY_ATTR {
    shuffle([&](int64_t i)
                HWY_ATTR { return hn::LoadU(Bytes(), from + i * kLineBytes); },
            [&](int64_t i, BytesVec x)
                HWY_ATTR { hn::StoreU(x, Bytes(), to + i * kLineBytes); });
  };
  // Vectors spill over into the next step, which is written later.
  constexpr int64_t kWidth = kVectors * kLineBytes;
  for (; bytes >= kWidth; bytes -= step, src += step, dst += step)
    shuffle_step(src, dst);
  for (; bytes > 0; bytes -= step, src += step, dst += step) {
    HWY_ALIGN uint8_t x[kWidth], y[kWidth];
    const size_t part = static_cast<size_t>(std::min(bytes, step));
    std::memcpy(x, src, part);
    shuffle_step(x, y);
    std::memcpy(dst, y, part);
  }
}

// The same run by run, with gaps between them.
template <int64_t kVectors>
void ShuffleRuns(const Block& block, const uint8_t* places) {
  const Shuffler<kVectors> shuffle(places);
  const Loop runs = block.batch;
  const uint8_t* src = block.src;
  uint8_t* dst = block.dst;
  constexpr int64_t kLast = (kVectors - 1) * kLineBytes;
  const auto last =
      hn::FirstN(Bytes(), static_cast<size_t>(block.item - kLast));
  for (int64_t i = 0; i < runs.extent;
       ++i, src += runs.src_stride, dst += runs.dst_stride) {
    shuffle(
        [&](int64_t k) HWY_ATTR {
          const uint8_t* const from = src + k * kLineBytes;
          return k < kVectors - 1 ? hn::LoadU(Bytes(), from)
                                  : hn::MaskedLoad(last, Bytes(), from);
        },
        [&](int64_t k, BytesVec x) HWY_ATTR {
          uint8_t* const to = dst + k * kLineBytes;
          k < kVectors - 1 ? hn::StoreU(x, Bytes(), to)
                           : hn::BlendedStore(x, last, Bytes(), to);
        });
  }
}

// Calls f(constant) with `n` from 1 to 4.
template <class F>
HWY_INLINE void WithConstant(int64_t n, F f) {
  switch (n) {
    case 1:
      return f(std::integral_constant<int64_t, 1>());
    case 2:
      return f(std::integral_constant<int64_t, 2>());
    case 3:
      return f(std::integral_constant<int64_t, 3>());
    default:
      return f(std::integral_constant<int64_t, 4>());
  }
}

// These return false where there are too few bytes.
template <int64_t kItem>
bool InterleaveByLookup(const Block& block) {
  if (block.num_b * kItem < kLineBytes) return false;
  const bool stream = block.stream && StartsAtLines(block);
  WithConstant(block.num_a, [&](auto rows) HWY_ATTR {
    stream ? InterleaveLines<kItem, rows(), true>(block)
           : InterleaveLines<kItem, rows(), false>(block);
  });
  return true;
}

template <int64_t kItem>
bool DeinterleaveByLookup(const Block& block) {
  if (block.num_a * kItem < kLineBytes) return false;
  WithConstant(block.num_b, [&](auto rows) HWY_ATTR {
    DeinterleaveLines<kItem, rows()>(block);
  });
  return true;
}

// Permutes the bytes of the runs of `block`.
// REQUIRES: block.item <= kMaxShuffle.
inline void ShuffleByLookup(const Block& block, const uint8_t* places) {
  const Loop runs = block.batch;
  const int64_t step = ShuffleStep(block.item);
  const bool dense =
      runs.src_stride == block.item && runs.dst_stride == block.item;
  WithConstant((step + kLineBytes - 1) / kLineBytes, [&](auto n) HWY_ATTR {
    dense ? ShuffleSteps<n()>(block.src, block.dst, runs.extent * block.item,
                              step, places)
          : ShuffleRuns<n()>(block, places);
  });
}

#else

inline constexpr bool kHasLookup = false;

template <int64_t kItem>
bool InterleaveByLookup(const Block&) {
  return false;
}
template <int64_t kItem>
bool DeinterleaveByLookup(const Block&) {
  return false;
}
inline void ShuffleByLookup(const Block&, const uint8_t*) {}

#endif  // HWY_TARGET == HWY_AVX3_DL

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
