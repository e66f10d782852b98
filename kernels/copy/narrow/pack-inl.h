// Packing elements narrower than a byte in vectors, per SIMD target.
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

#if defined(AXIS_NARROW_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_NARROW_PACK_INL_H_
#undef AXIS_NARROW_PACK_INL_H_
#else
#define AXIS_NARROW_PACK_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Unpack...() and Pack...() return how many units they did: all, or none if
// those are fewer than a vector holds.

#if HWY_TARGET == HWY_SCALAR

int64_t UnpackVectors1(const uint8_t*, int64_t, uint8_t*) { return 0; }
int64_t PackVectors1(const uint8_t*, int64_t, uint8_t*) { return 0; }
template <int kBits, bool kHighFirst>
int64_t UnpackVectors(const uint8_t*, int64_t, uint8_t*) {
  return 0;
}
template <int kBits, bool kHighFirst>
int64_t PackVectors(const uint8_t*, int64_t, uint8_t*) {
  return 0;
}
template <int kLow, int kHigh>
int64_t UnpackGroups(const uint8_t*, int64_t, uint8_t*) {
  return 0;
}
template <int kLow, int kHigh>
int64_t PackGroups(const uint8_t*, int64_t, uint8_t*) {
  return 0;
}

#else

// 128 bits at a time: wider vectors interleave within those only.
using Bytes = hn::FixedTag<uint8_t, 16>;
using Pairs = hn::FixedTag<uint16_t, 8>;

// Calls f(first unit) for vectors of kUnits; the last may do some again.
template <int64_t kUnits, class F>
HWY_INLINE int64_t ForEachVector(int64_t units, F f) {
  if (units < kUnits) return 0;
  int64_t i = 0;
  for (; i + kUnits <= units; i += kUnits) f(i);
  if (i < units) f(units - kUnits);
  return units;
}

// Splits every byte into the two halves of its low 2 * kBits bits, in order.
template <int kBits, bool kHighFirst, class V>
HWY_INLINE void Halve(V x, V& first, V& second) {
  const Bytes d;
  const V low = hn::And(x, hn::Set(d, (1 << kBits) - 1));
  const V high = hn::ShiftRight<kBits>(x);
  const V a = kHighFirst ? high : low, b = kHighFirst ? low : high;
  first = hn::InterleaveLower(d, a, b);
  second = hn::InterleaveUpper(d, a, b);
}

// Joins neighbours of kBits in one byte each.
template <int kBits, bool kHighFirst, class V>
HWY_INLINE V Join(V x, V y) {
  const Bytes d;
  auto join = [](V v) HWY_ATTR {
    const auto pair = hn::BitCast(Pairs(), v);
    return hn::BitCast(
        Bytes(),
        kHighFirst ? hn::Or(hn::ShiftLeft<kBits>(pair), hn::ShiftRight<8>(pair))
                   : hn::Or(pair, hn::ShiftRight<8 - kBits>(pair)));
  };
  return hn::ConcatEven(d, join(y), join(x));
}

// Splits every byte of `x` into elements of kBits, to a byte each, in order:
// 8 / kBits vectors. Of each byte the low kField bits are left to split.
template <int kBits, bool kHighFirst, int kField = 8, class V>
HWY_INLINE void Split(V x, V* items) {
  if constexpr (kField == kBits) {
    *items = x;
  } else {
    constexpr int kHalf = kField / 2;
    V first, second;
    Halve<kHalf, kHighFirst>(x, first, second);
    Split<kBits, kHighFirst, kHalf>(first, items);
    Split<kBits, kHighFirst, kHalf>(second, items + kHalf / kBits);
  }
}

// The inverse.
template <int kBits, bool kHighFirst, int kField = 8, class V>
HWY_INLINE V Merge(const V* items) {
  if constexpr (kField == kBits) {
    return *items;
  } else {
    constexpr int kHalf = kField / 2;
    return Join<kHalf, kHighFirst>(
        Merge<kBits, kHighFirst, kHalf>(items),
        Merge<kBits, kHighFirst, kHalf>(items + kHalf / kBits));
  }
}

template <int kBits, bool kHighFirst>
int64_t UnpackVectors(const uint8_t* packed, int64_t bytes, uint8_t* items) {
  const Bytes d;
  constexpr int kVectors = 8 / kBits;
  return ForEachVector<16>(bytes, [&](int64_t i) HWY_ATTR {
    hn::Vec<Bytes> x[kVectors];
    Split<kBits, kHighFirst>(hn::LoadU(d, packed + i), x);
    for (int k = 0; k < kVectors; ++k)
      hn::StoreU(x[k], d, items + kVectors * i + 16 * k);
  });
}

template <int kBits, bool kHighFirst>
int64_t PackVectors(const uint8_t* items, int64_t bytes, uint8_t* packed) {
  const Bytes d;
  constexpr int kVectors = 8 / kBits;
  return ForEachVector<16>(bytes, [&](int64_t i) HWY_ATTR {
    hn::Vec<Bytes> x[kVectors];
    for (int k = 0; k < kVectors; ++k)
      x[k] = hn::LoadU(d, items + kVectors * i + 16 * k);
    hn::StoreU(Merge<kBits, kHighFirst>(x), d, packed + i);
  });
}

// Groups: the low bits of all elements, then the high ones.
template <int kLow, int kHigh>
int64_t UnpackGroups(const uint8_t* packed, int64_t groups, uint8_t* items) {
  const Bytes d;
  constexpr int kVectors = 8 / kHigh;
  return ForEachVector<16>(groups, [&](int64_t i) HWY_ATTR {
    hn::Vec<Bytes> a, b, c, low[kVectors], high[kVectors];
    hn::LoadInterleaved3(d, packed + 3 * i, a, b, c);
    Split<kLow, true>(hn::InterleaveLower(d, a, b), low);
    Split<kLow, true>(hn::InterleaveUpper(d, a, b), low + kVectors / 2);
    Split<kHigh, true>(c, high);
    for (int k = 0; k < kVectors; ++k)
      hn::StoreU(hn::Or(low[k], hn::ShiftLeft<kLow>(high[k])), d,
                 items + kVectors * i + 16 * k);
  });
}

template <int kLow, int kHigh>
int64_t PackGroups(const uint8_t* items, int64_t groups, uint8_t* packed) {
  const Bytes d;
  constexpr int kVectors = 8 / kHigh;
  return ForEachVector<16>(groups, [&](int64_t i) HWY_ATTR {
    hn::Vec<Bytes> low[kVectors], high[kVectors];
    for (int k = 0; k < kVectors; ++k) {
      const auto x = hn::LoadU(d, items + kVectors * i + 16 * k);
      low[k] = hn::And(x, hn::Set(d, (1 << kLow) - 1));
      high[k] = hn::ShiftRight<kLow>(x);
    }
    const auto x = Merge<kLow, true>(low);
    const auto y = Merge<kLow, true>(low + kVectors / 2);
    hn::StoreInterleaved3(hn::ConcatEven(d, y, x), hn::ConcatOdd(d, y, x),
                          Merge<kHigh, true>(high), d, packed + 3 * i);
  });
}

// A bit for each lane of a vector: at most 8 bytes of them.
using Lanes = hn::ScalableTag<uint8_t>;

int64_t UnpackVectors1(const uint8_t* packed, int64_t bytes, uint8_t* items) {
  const Lanes d;
  constexpr int64_t kStep = static_cast<int64_t>(hn::MaxLanes(Lanes())) / 8;
  HWY_ALIGN uint8_t places[8 * kStep], masks[8 * kStep];
  for (int64_t k = 0; k < 8 * kStep; ++k) {
    places[k] = static_cast<uint8_t>(k / 8);
    masks[k] = static_cast<uint8_t>(0x80 >> k % 8);
  }
  const auto place = hn::Load(d, places), mask = hn::Load(d, masks);
  return ForEachVector<kStep>(bytes, [&](int64_t i) HWY_ATTR {
    uint64_t word = 0;
    std::memcpy(&word, packed + i, kStep);
    const auto words = hn::Set(hn::Repartition<uint64_t, Lanes>(), word);
    const auto bits =
        hn::And(hn::TableLookupBytes(hn::BitCast(d, words), place), mask);
    hn::StoreU(hn::Min(bits, hn::Set(d, 1)), d, items + 8 * i);
  });
}

int64_t PackVectors1(const uint8_t* items, int64_t bytes, uint8_t* packed) {
  const Lanes d;
  constexpr int64_t kStep = static_cast<int64_t>(hn::MaxLanes(Lanes())) / 8;
  // The mask of a vector has its first lane in the lowest bit of a byte.
  HWY_ALIGN uint8_t places[8 * kStep];
  for (int64_t k = 0; k < 8 * kStep; ++k)
    places[k] = static_cast<uint8_t>((k % 16) ^ 7);
  const auto place = hn::Load(d, places);
  return ForEachVector<kStep>(bytes, [&](int64_t i) HWY_ATTR {
    uint8_t bits[8];
    hn::StoreMaskBits(
        d,
        hn::Ne(hn::TableLookupBytes(hn::LoadU(d, items + 8 * i), place),
               hn::Zero(d)),
        bits);
    std::memcpy(packed + i, bits, kStep);
  });
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
