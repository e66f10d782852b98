// Copying runs of bytes, per SIMD target. Included once for each target.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/copy/block.h"

#if defined(AXIS_BLOCK_RUNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_RUNS_INL_H_
#undef AXIS_BLOCK_RUNS_INL_H_
#else
#define AXIS_BLOCK_RUNS_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The size of a vector.
#if HWY_TARGET == HWY_SCALAR
inline constexpr int64_t kVectorBytes = 16;
#else
inline constexpr int64_t kVectorBytes =
    static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<uint8_t>()));
#endif

// Copies a power of two, with as few loads and stores as there can be. GCC
// would move no more than 16 bytes at once, whatever the target.
template <int64_t kBytes>
HWY_INLINE void CopyFixed(uint8_t* HWY_RESTRICT dst,
                          const uint8_t* HWY_RESTRICT src) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kBytes >= 16) {
    const hn::CappedTag<uint8_t, static_cast<size_t>(kBytes)> d;
    HWY_UNROLL(4)
    for (int64_t i = 0; i < kBytes; i += std::min(kBytes, kVectorBytes))
      hn::StoreU(hn::LoadU(d, src + i), d, dst + i);
    return;
  }
#endif
  uint8_t bytes[kBytes];
  std::memcpy(bytes, src, kBytes);
  std::memcpy(dst, bytes, kBytes);
}

// Copies kBytes to 2 * kBytes, inclusive: the halves may overlap.
template <int64_t kBytes>
HWY_INLINE void CopyHalves(uint8_t* HWY_RESTRICT dst,
                           const uint8_t* HWY_RESTRICT src, int64_t bytes) {
  CopyFixed<kBytes>(dst, src);
  CopyFixed<kBytes>(dst + bytes - kBytes, src + bytes - kBytes);
}

// Copies a vector to each of `at`, all loaded before the first is stored: lines
// that are written in a row are not read first.
template <class... At>
HWY_INLINE void CopyVectorsAt(uint8_t* dst, const uint8_t* src, At... at) {
#if HWY_TARGET == HWY_SCALAR
  (CopyFixed<kVectorBytes>(dst + at, src + at), ...);
#else
  const hn::ScalableTag<uint8_t> d;
  auto store = [&](auto... x) HWY_ATTR { (hn::StoreU(x, d, dst + at), ...); };
  store(hn::LoadU(d, src + at)...);
#endif
}

// Copies kVectorBytes or more.
HWY_INLINE void CopyVectors(uint8_t* HWY_RESTRICT dst,
                            const uint8_t* HWY_RESTRICT src, int64_t bytes) {
  constexpr int64_t kV = kVectorBytes;
  int64_t i = 0;
  for (; i + 4 * kV < bytes; i += 4 * kV)
    CopyVectorsAt(dst, src, i, i + kV, i + 2 * kV, i + 3 * kV);
  // What is left, and if it is no multiple some once more.
  if (bytes - i > 2 * kV) {
    CopyVectorsAt(dst, src, i, i + kV, bytes - 2 * kV, bytes - kV);
  } else {
    CopyVectorsAt(dst, src, std::max<int64_t>(0, bytes - 2 * kV), bytes - kV);
  }
}

// Copies 64 bytes or more, one load after the other, the last of kLast bytes.
// In short runs from far apart the machine then foresees the lines better than
// where several loads of a run take turns, most likely because it looks for
// strides load by load.
template <int64_t kLast>
HWY_INLINE void CopyInOrder(uint8_t* HWY_RESTRICT dst,
                            const uint8_t* HWY_RESTRICT src, int64_t bytes) {
  int64_t i = 0;
  for (; i + 64 <= bytes; i += 64) CopyHalves<32>(dst + i, src + i, 64);
  if (i + 32 <= bytes - (kLast == 32)) CopyFixed<32>(dst + i, src + i);
  if (i < bytes) CopyFixed<kLast>(dst + bytes - kLast, src + bytes - kLast);
}

// From here on it gains to align what is written, though not what is copied out
// of scratch: there loads would be of two stores each that are on their way.
inline constexpr int64_t kAlignedRun = 8 * kVectorBytes;

// Copies a vector, so that from the byte on that it returns every store is of
// an aligned one: a store across two lines takes as long as two.
HWY_INLINE int64_t CopyHead(uint8_t* HWY_RESTRICT dst,
                            const uint8_t* HWY_RESTRICT src) {
  CopyFixed<kVectorBytes>(dst, src);
  return static_cast<int64_t>(-reinterpret_cast<uintptr_t>(dst) &
                              (kVectorBytes - 1));
}

// From here on the machine finds out about a run by itself.
inline constexpr int64_t kForeseenRun = 2048;

// Up to here vectors are faster than what the C library does for such runs.
inline constexpr int64_t kVectorRun = 128 << 10;

// Calls f(copy), where copy(dst, src) copies `bytes` in the fastest way known
// for that size. Chosen outside the loop over the runs: a call or a chain of
// branches for each would cost more than the copy.
template <class F>
HWY_INLINE void WithCopier(int64_t bytes, F f) {
#define AXIS_COPIER(expression)                                     \
  f([=](uint8_t* HWY_RESTRICT dst, const uint8_t* HWY_RESTRICT src) \
        HWY_ATTR { expression; })
#define AXIS_ALIGNED_COPIER(copy)                      \
  AXIS_COPIER(const int64_t head = CopyHead(dst, src); \
              copy(dst + head, src + head, bytes - head))
  switch (bytes) {
    case 1:
      return AXIS_COPIER(CopyFixed<1>(dst, src));
    case 2:
      return AXIS_COPIER(CopyFixed<2>(dst, src));
    case 4:
      return AXIS_COPIER(CopyFixed<4>(dst, src));
    case 8:
      return AXIS_COPIER(CopyFixed<8>(dst, src));
    case 12:
      return AXIS_COPIER(CopyHalves<8>(dst, src, 12));
    case 16:
      return AXIS_COPIER(CopyFixed<16>(dst, src));
    case 32:
      return AXIS_COPIER(CopyFixed<32>(dst, src));
    case 64:
      return AXIS_COPIER(CopyFixed<64>(dst, src));
    case 128:
      return AXIS_COPIER(CopyFixed<128>(dst, src));
    case 256:
      return AXIS_COPIER(CopyFixed<256>(dst, src));
    default:
      break;
  }
  if (bytes < 4) return AXIS_COPIER(CopyHalves<2>(dst, src, bytes));
  if (bytes < 8) return AXIS_COPIER(CopyHalves<4>(dst, src, bytes));
  if (bytes < 16) return AXIS_COPIER(CopyHalves<8>(dst, src, bytes));
  if (bytes < 32) return AXIS_COPIER(CopyHalves<16>(dst, src, bytes));
  if (bytes < 64) return AXIS_COPIER(CopyHalves<32>(dst, src, bytes));
  // The less the last store writes once more, the less often it crosses a line.
  if (bytes < kAlignedRun && (bytes - 1) % 32 < 8)
    return AXIS_COPIER(CopyInOrder<8>(dst, src, bytes));
  if (bytes < kAlignedRun) return AXIS_COPIER(CopyInOrder<32>(dst, src, bytes));
  if (bytes < kForeseenRun) return AXIS_ALIGNED_COPIER(CopyInOrder<32>);
  if (bytes < kVectorRun) return AXIS_ALIGNED_COPIER(CopyVectors);
  return AXIS_COPIER(std::memcpy(dst, src, static_cast<size_t>(bytes)));
#undef AXIS_ALIGNED_COPIER
#undef AXIS_COPIER
}

// Copies 1 to 16 bytes.
HWY_INLINE void CopyShort(uint8_t* HWY_RESTRICT dst,
                          const uint8_t* HWY_RESTRICT src, int64_t bytes) {
  if (bytes >= 8) return CopyHalves<8>(dst, src, bytes);
  if (bytes >= 4) return CopyHalves<4>(dst, src, bytes);
  if (bytes >= 2) return CopyHalves<2>(dst, src, bytes);
  *dst = *src;
}

// Copies a run that stands alone, most often out of scratch: nothing is there
// to be foreseen.
HWY_NOINLINE inline void CopyRun(uint8_t* HWY_RESTRICT dst,
                                 const uint8_t* HWY_RESTRICT src,
                                 int64_t bytes) {
  if (bytes > 256 && bytes < kLibraryRun) return CopyVectors(dst, src, bytes);
  WithCopier(bytes, [=](auto copy) HWY_ATTR { copy(dst, src); });
}

#if HWY_TARGET != HWY_SCALAR
// Copies a line past the caches, by halves at most: stores of whole lines,
// right after what they store was loaded from memory, took up to 1.4 times as
// long (Zen 4).
// REQUIRES: `dst` is at a line.
HWY_INLINE void StreamLine(uint8_t* HWY_RESTRICT dst,
                           const uint8_t* HWY_RESTRICT src) {
  constexpr int64_t kPart = std::min(kVectorBytes, kLineBytes / 2);
  const hn::FixedTag<uint8_t, size_t{kPart}> d;
  HWY_UNROLL(4)
  for (int64_t part = 0; part < kLineBytes; part += kPart)
    hn::Stream(hn::LoadU(d, src + part), d, dst + part);
}
#endif

// Copies past the caches: whole lines only, since a part of one would cost a
// round trip to memory. The caller fences.
HWY_INLINE void StreamRun(uint8_t* HWY_RESTRICT dst,
                          const uint8_t* HWY_RESTRICT src, int64_t bytes) {
#if HWY_TARGET == HWY_SCALAR
  CopyRun(dst, src, bytes);
#else
  const int64_t head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(dst) &
                                            (kLineBytes - 1));
  if (bytes < head + kLineBytes) return CopyRun(dst, src, bytes);
  if (head != 0) CopyRun(dst, src, head);
  int64_t i = head;
  for (; i + kLineBytes <= bytes; i += kLineBytes) StreamLine(dst + i, src + i);
  if (i < bytes) CopyRun(dst + i, src + i, bytes - i);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
