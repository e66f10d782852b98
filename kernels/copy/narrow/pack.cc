#include "kernels/copy/narrow/pack.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/copy/narrow/pack.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/copy/narrow/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

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

void UnpackUnits(int64_t item_bits, const uint8_t* packed, int64_t units,
                 uint8_t* items) {
  int64_t i = 0;
  switch (item_bits) {
    case 1:
      i = UnpackVectors1(packed, units, items);
      for (; i < units; ++i) UnpackByte<1>(packed[i], items + 8 * i);
      return;
    case 2:
      i = UnpackVectors<2, true>(packed, units, items);
      for (; i < units; ++i) UnpackByte<2>(packed[i], items + 4 * i);
      return;
    case 4:
      i = UnpackVectors<4, false>(packed, units, items);
      for (; i < units; ++i) {
        items[2 * i] = packed[i] & 15;
        items[2 * i + 1] = packed[i] >> 4;
      }
      return;
    case 3:
      i = UnpackGroups<2, 1>(packed, units, items);
      for (; i < units; ++i) UnpackGroup<2, 1>(packed + 3 * i, items + 8 * i);
      return;
    default:
      i = UnpackGroups<4, 2>(packed, units, items);
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
      i = PackVectors<2, true>(items, units, packed);
      for (; i < units; ++i) packed[i] = PackByte<2>(items + 4 * i);
      return;
    case 4:
      i = PackVectors<4, false>(items, units, packed);
      for (; i < units; ++i)
        packed[i] = static_cast<uint8_t>(items[2 * i] | items[2 * i + 1] << 4);
      return;
    case 3:
      i = PackGroups<2, 1>(items, units, packed);
      for (; i < units; ++i) PackGroup<2, 1>(items + 8 * i, packed + 3 * i);
      return;
    default:
      i = PackGroups<4, 2>(items, units, packed);
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
