// The order of bits: which end of a byte its first element is at.
#pragma once

#include <cstdint>

namespace axis {

// Bits count from the end of a byte that its first element is at. Sooner and
// Later move them towards it and away from it.
template <bool kHighFirst>
constexpr uint8_t Sooner(unsigned byte, int bits) {
  return static_cast<uint8_t>(kHighFirst ? byte << bits : byte >> bits);
}
template <bool kHighFirst>
constexpr uint8_t Later(unsigned byte, int bits) {
  return static_cast<uint8_t>(kHighFirst ? byte >> bits : byte << bits);
}

}  // namespace axis
