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

// Up to two blocks, which are what lookups and interleaving stay within.
using TwoBlocks = hn::CappedTag<uint8_t, 32>;
using OneBlock = hn::FixedTag<uint8_t, 16>;

// Calls f(first unit) for vectors of kUnits; the last may do some again.
template <int64_t kUnits, class F>
HWY_INLINE int64_t ForEachVector(int64_t units, F f) {
  if (units < kUnits) return 0;
  int64_t i = 0;
  for (; i + kUnits <= units; i += kUnits) f(i);
  if (i < units) f(units - kUnits);
  return units;
}

// Calls f(tag, first unit) for vectors with a lane for each unit, in blocks if
// those are too few for two.
template <class F>
HWY_INLINE int64_t ForEachBytes(int64_t units, F f) {
  constexpr auto kUnits = static_cast<int64_t>(hn::MaxLanes(TwoBlocks()));
  if (units >= kUnits)
    return ForEachVector<kUnits>(
        units, [&](int64_t i) HWY_ATTR { f(TwoBlocks(), i); });
  return ForEachVector<16>(units,
                           [&](int64_t i) HWY_ATTR { f(OneBlock(), i); });
}

// Deals the 16 / kVectors bytes that come next to each block of a vector in
// turn. What is split within blocks, to kVectors vectors, is then in order.
template <int kVectors, class D, class V = hn::Vec<D> >
HWY_INLINE V Deal(D d, V x) {
  if constexpr (hn::MaxLanes(D()) > 16) {
    const hn::Repartition<uint32_t, D> words;
    HWY_ALIGN static constexpr uint8_t kPairs[16] = {
        0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15};
    HWY_ALIGN static constexpr int32_t kSingle[8] = {0, 2, 4, 6, 1, 3, 5, 7};
    HWY_ALIGN static constexpr int32_t kDouble[8] = {0, 1, 4, 5, 2, 3, 6, 7};
    if constexpr (kVectors == 8)
      x = hn::TableLookupBytes(x, hn::LoadDup128(d, kPairs));
    x = hn::BitCast(
        d, hn::TableLookupLanes(
               hn::BitCast(words, x),
               hn::SetTableIndices(words, kVectors == 4 ? kSingle : kDouble)));
  }
  return x;
}

// Splits every byte into the two halves of its low 2 * kBits bits, in order
// within blocks.
template <int kBits, bool kHighFirst, class V>
HWY_INLINE void Halve(V x, V& first, V& second) {
  const hn::DFromV<V> d;
  const V low = hn::And(x, hn::Set(d, (1 << kBits) - 1));
  const V high = hn::ShiftRight<kBits>(x);
  const V a = kHighFirst ? high : low, b = kHighFirst ? low : high;
  first = hn::InterleaveLower(d, a, b);
  second = hn::InterleaveUpper(d, a, b);
}

// Joins neighbours of kBits in one byte each.
template <int kBits, bool kHighFirst, class V>
HWY_INLINE V Join(V x, V y) {
  const hn::DFromV<V> d;
  auto join = [d](V v) HWY_ATTR {
    const auto pair = hn::BitCast(hn::RepartitionToWide<decltype(d)>(), v);
    return hn::BitCast(
        d, kHighFirst
               ? hn::Or(hn::ShiftLeft<kBits>(pair), hn::ShiftRight<8>(pair))
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
  constexpr int kVectors = 8 / kBits;
  return ForEachBytes(bytes, [&](auto d, int64_t i) HWY_ATTR {
    hn::Vec<decltype(d)> x[kVectors];
    Split<kBits, kHighFirst>(Deal<kVectors>(d, hn::LoadU(d, packed + i)), x);
    for (int k = 0; k < kVectors; ++k)
      hn::StoreU(x[k], d, items + kVectors * i + hn::Lanes(d) * k);
  });
}

template <int kBits, bool kHighFirst>
int64_t PackVectors(const uint8_t* items, int64_t bytes, uint8_t* packed) {
  constexpr int kVectors = 8 / kBits;
  return ForEachBytes(bytes, [&](auto d, int64_t i) HWY_ATTR {
    hn::Vec<decltype(d)> x[kVectors];
    for (int k = 0; k < kVectors; ++k)
      x[k] = hn::LoadU(d, items + kVectors * i + hn::Lanes(d) * k);
    hn::StoreU(Merge<kBits, kHighFirst>(x), d, packed + i);
  });
}

// Groups: the low bits of all elements, then the high ones.
template <int kLow, int kHigh>
int64_t UnpackGroups(const uint8_t* packed, int64_t groups, uint8_t* items) {
  constexpr int kVectors = 8 / kHigh;
  return ForEachBytes(groups, [&](auto d, int64_t i) HWY_ATTR {
    hn::Vec<decltype(d)> a, b, c, low[kVectors], high[kVectors];
    hn::LoadInterleaved3(d, packed + 3 * i, a, b, c);
    a = Deal<kVectors>(d, a), b = Deal<kVectors>(d, b);
    c = Deal<kVectors>(d, c);
    Split<kLow, true>(hn::InterleaveLower(d, a, b), low);
    Split<kLow, true>(hn::InterleaveUpper(d, a, b), low + kVectors / 2);
    Split<kHigh, true>(c, high);
    for (int k = 0; k < kVectors; ++k)
      hn::StoreU(hn::Or(low[k], hn::ShiftLeft<kLow>(high[k])), d,
                 items + kVectors * i + hn::Lanes(d) * k);
  });
}

template <int kLow, int kHigh>
int64_t PackGroups(const uint8_t* items, int64_t groups, uint8_t* packed) {
  constexpr int kVectors = 8 / kHigh;
  return ForEachBytes(groups, [&](auto d, int64_t i) HWY_ATTR {
    hn::Vec<decltype(d)> low[kVectors], high[kVectors];
    for (int k = 0; k < kVectors; ++k) {
      const auto x = hn::LoadU(d, items + kVectors * i + hn::Lanes(d) * k);
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
