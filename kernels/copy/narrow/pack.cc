#include "kernels/copy/narrow/pack.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/copy/narrow/pack.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Elements of kBits in a byte, the first in the high bits.
template <int kBits>
HWY_INLINE void UnpackByte(unsigned byte, uint8_t* items) {
  for (int k = 0; k < 8 / kBits; ++k)
    items[k] = static_cast<uint8_t>(byte >> (8 - kBits * (k + 1)) &
                                    ((1u << kBits) - 1));
}

template <int kBits>
HWY_INLINE uint8_t PackByte(const uint8_t* items) {
  unsigned byte = 0;
  for (int k = 0; k < 8 / kBits; ++k) byte = byte << kBits | items[k];
  return static_cast<uint8_t>(byte);
}

// A group of 3 bytes whose elements have kLow low bits in the first two.
template <int kLow, int kHigh>
HWY_INLINE void UnpackGroup(const uint8_t* group, uint8_t* items) {
  uint8_t high[8 / kHigh];
  UnpackByte<kLow>(group[0], items);
  UnpackByte<kLow>(group[1], items + 8 / kLow);
  UnpackByte<kHigh>(group[2], high);
  for (int k = 0; k < 8 / kHigh; ++k)
    items[k] = static_cast<uint8_t>(items[k] | high[k] << kLow);
}

template <int kLow, int kHigh>
HWY_INLINE void PackGroup(const uint8_t* items, uint8_t* group) {
  uint8_t low[8 / kHigh], high[8 / kHigh];
  for (int k = 0; k < 8 / kHigh; ++k) {
    low[k] = items[k] & ((1 << kLow) - 1);
    high[k] = static_cast<uint8_t>(items[k] >> kLow);
  }
  group[0] = PackByte<kLow>(low);
  group[1] = PackByte<kLow>(low + 8 / kLow);
  group[2] = PackByte<kHigh>(high);
}

#if HWY_TARGET != HWY_SCALAR

// 128 bits at a time: wider vectors interleave within those only.
using Bytes = hn::FixedTag<uint8_t, 16>;
using Pairs = hn::FixedTag<uint16_t, 8>;

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

// These do as many whole vectors as there are, and return how many bytes.

int64_t UnpackVectors4(const uint8_t* packed, int64_t bytes, uint8_t* items) {
  const Bytes d;
  int64_t i = 0;
  for (; i + 16 <= bytes; i += 16) {
    hn::Vec<Bytes> x, y;
    Halve<4, false>(hn::LoadU(d, packed + i), x, y);
    hn::StoreU(x, d, items + 2 * i);
    hn::StoreU(y, d, items + 2 * i + 16);
  }
  return i;
}

int64_t UnpackVectors2(const uint8_t* packed, int64_t bytes, uint8_t* items) {
  const Bytes d;
  int64_t i = 0;
  for (; i + 16 <= bytes; i += 16) {
    hn::Vec<Bytes> x, y, a, b;
    Halve<4, true>(hn::LoadU(d, packed + i), x, y);
    Halve<2, true>(x, a, b);
    hn::StoreU(a, d, items + 4 * i);
    hn::StoreU(b, d, items + 4 * i + 16);
    Halve<2, true>(y, a, b);
    hn::StoreU(a, d, items + 4 * i + 32);
    hn::StoreU(b, d, items + 4 * i + 48);
  }
  return i;
}

int64_t PackVectors4(const uint8_t* items, int64_t bytes, uint8_t* packed) {
  const Bytes d;
  int64_t i = 0;
  for (; i + 16 <= bytes; i += 16)
    hn::StoreU(Join<4, false>(hn::LoadU(d, items + 2 * i),
                              hn::LoadU(d, items + 2 * i + 16)),
               d, packed + i);
  return i;
}

int64_t PackVectors2(const uint8_t* items, int64_t bytes, uint8_t* packed) {
  const Bytes d;
  int64_t i = 0;
  for (; i + 16 <= bytes; i += 16) {
    const uint8_t* from = items + 4 * i;
    const auto x = Join<2, true>(hn::LoadU(d, from), hn::LoadU(d, from + 16));
    const auto y =
        Join<2, true>(hn::LoadU(d, from + 32), hn::LoadU(d, from + 48));
    hn::StoreU(Join<4, true>(x, y), d, packed + i);
  }
  return i;
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
  int64_t i = 0;
  for (; i + kStep <= bytes; i += kStep) {
    uint64_t word = 0;
    std::memcpy(&word, packed + i, kStep);
    const auto words = hn::Set(hn::Repartition<uint64_t, Lanes>(), word);
    const auto bits =
        hn::And(hn::TableLookupBytes(hn::BitCast(d, words), place), mask);
    hn::StoreU(hn::Min(bits, hn::Set(d, 1)), d, items + 8 * i);
  }
  return i;
}

int64_t PackVectors1(const uint8_t* items, int64_t bytes, uint8_t* packed) {
  const Lanes d;
  constexpr int64_t kStep = static_cast<int64_t>(hn::MaxLanes(Lanes())) / 8;
  // The mask of a vector has its first lane in the lowest bit of a byte.
  HWY_ALIGN uint8_t places[8 * kStep];
  for (int64_t k = 0; k < 8 * kStep; ++k)
    places[k] = static_cast<uint8_t>((k % 16) ^ 7);
  const auto place = hn::Load(d, places);
  int64_t i = 0;
  for (; i + kStep <= bytes; i += kStep) {
    uint8_t bits[8];
    hn::StoreMaskBits(
        d,
        hn::Ne(hn::TableLookupBytes(hn::LoadU(d, items + 8 * i), place),
               hn::Zero(d)),
        bits);
    std::memcpy(packed + i, bits, kStep);
  }
  return i;
}

#else

int64_t UnpackVectors1(const uint8_t*, int64_t, uint8_t*) { return 0; }
int64_t UnpackVectors2(const uint8_t*, int64_t, uint8_t*) { return 0; }
int64_t UnpackVectors4(const uint8_t*, int64_t, uint8_t*) { return 0; }
int64_t PackVectors1(const uint8_t*, int64_t, uint8_t*) { return 0; }
int64_t PackVectors2(const uint8_t*, int64_t, uint8_t*) { return 0; }
int64_t PackVectors4(const uint8_t*, int64_t, uint8_t*) { return 0; }

#endif

void UnpackUnits(int64_t item_bits, const uint8_t* packed, int64_t units,
                 uint8_t* items) {
  int64_t i = 0;
  switch (item_bits) {
    case 1:
      i = UnpackVectors1(packed, units, items);
      for (; i < units; ++i) UnpackByte<1>(packed[i], items + 8 * i);
      return;
    case 2:
      i = UnpackVectors2(packed, units, items);
      for (; i < units; ++i) UnpackByte<2>(packed[i], items + 4 * i);
      return;
    case 4:
      i = UnpackVectors4(packed, units, items);
      for (; i < units; ++i) {
        items[2 * i] = packed[i] & 15;
        items[2 * i + 1] = packed[i] >> 4;
      }
      return;
    case 3:
      for (; i < units; ++i) UnpackGroup<2, 1>(packed + 3 * i, items + 8 * i);
      return;
    default:
      for (; i < units; ++i) UnpackGroup<4, 2>(packed + 3 * i, items + 4 * i);
  }
}

void PackUnits(int64_t item_bits, const uint8_t* items, int64_t units,
               uint8_t* packed) {
  int64_t i = 0;
  switch (item_bits) {
    case 1:
      i = PackVectors1(items, units, packed);
      for (; i < units; ++i) packed[i] = PackByte<1>(items + 8 * i);
      return;
    case 2:
      i = PackVectors2(items, units, packed);
      for (; i < units; ++i) packed[i] = PackByte<2>(items + 4 * i);
      return;
    case 4:
      i = PackVectors4(items, units, packed);
      for (; i < units; ++i)
        packed[i] = static_cast<uint8_t>(items[2 * i] | items[2 * i + 1] << 4);
      return;
    case 3:
      for (; i < units; ++i) PackGroup<2, 1>(items + 8 * i, packed + 3 * i);
      return;
    default:
      for (; i < units; ++i) PackGroup<4, 2>(items + 4 * i, packed + 3 * i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace axis {

HWY_EXPORT(UnpackUnits);
HWY_EXPORT(PackUnits);

void Unpack(int64_t item_bits, const uint8_t* packed, int64_t units,
            uint8_t* items) {
  HWY_DYNAMIC_DISPATCH(UnpackUnits)(item_bits, packed, units, items);
}

void Pack(int64_t item_bits, const uint8_t* items, int64_t units,
          uint8_t* packed) {
  HWY_DYNAMIC_DISPATCH(PackUnits)(item_bits, items, units, packed);
}

}  // namespace axis
#endif  // HWY_ONCE
