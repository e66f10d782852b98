// Packing: elements narrower than a byte, to one byte each and back.
//
// Storage order is OpenVINO's: 4-bit elements fill a byte from the low end, 1-
// and 2-bit ones from the high end; 3- and 6-bit ones come in groups of 3
// bytes, of which the last holds the high bits of all elements, the others the
// low bits, all from the high end.
#pragma once

#include <cstdint>

#include "kernels/plan.h"

namespace axis {

constexpr int64_t UnitItems(int64_t item_bits) {
  return UnitBytes(item_bits) * 8 / item_bits;
}

// Writes the elements of `units` units to UnitItems() bytes each.
void Unpack(int64_t item_bits, const uint8_t* packed, int64_t units,
            uint8_t* items);

// The inverse. The bytes hold nothing but their element.
void Pack(int64_t item_bits, const uint8_t* items, int64_t units,
          uint8_t* packed);

}  // namespace axis
