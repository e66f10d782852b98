// Which requests are light: the polling thread serves them itself, for to hand
// one over costs 10 to 100 us, and every other call waits meanwhile.
#pragma once

#include <cstdint>

namespace axis {

// Light requests say little beside their raw data: a number that is spelled out
// takes a hundred times as long as a byte.
inline constexpr int64_t kLightRest = 2 << 10;

// What an op may move. Of elements of less than a byte, and of strings, it
// takes longer.
inline constexpr int64_t kLightBytes = 2 << 20;
inline constexpr int64_t kLightUnevenBytes = 64 << 10;

// A tensor that an op makes takes 0.3 us, and 1.5 if it is sent.
inline constexpr int64_t kLightTensors = 512;

// What serving a request takes, at most.
struct Work {
  int64_t ops = 1;             // each may take a pass
  int64_t tensors = 1;         // that they make, and that are sent
  int64_t constant_bytes = 0;  // which the request does not send

  // Whether that is light, if the request has so many bytes.
  bool IsLight(int64_t bytes, bool is_uneven) const {
    const int64_t most =
        is_uneven || constant_bytes > 0 ? kLightUnevenBytes : kLightBytes;
    return tensors <= kLightTensors && bytes + constant_bytes <= most / ops;
  }
};

}  // namespace axis
