#include "kernels/copy/plan/even.h"

#include <cstdint>

#include "kernels/copy/plan/side.h"

namespace axis {
namespace {

// Most blocks grow until they are about so long.
constexpr int64_t kGrownBytes = 512;

// A copy of fewer bytes is done before it is cut.
constexpr int64_t kLeastBytes = 64 << 10;

// What is left, one part in so many, may take a few times as long.
constexpr int64_t kLeft = 16;

// Of the side whose items lie `stride` apart; `other` is that of the other.
std::optional<EvenPart> FindEvenPart(const ByteCopy& copy,
                                     int64_t Loop::*stride,
                                     int64_t Loop::*other) {
  const auto& loops = copy.loops;
  int64_t grown = copy.item;
  for (bool is_first = true;; is_first = false) {
    const auto next = Find(loops, stride, grown);
    if (!next || loops[*next].*other == copy.item || grown * 2 > kGrownBytes)
      return std::nullopt;
    const int64_t extent = loops[*next].extent, most = kGrownBytes / grown;
    if (is_first || extent <= most) {
      grown *= extent;
      continue;
    }
    const int64_t divisor = LargestDivisor(extent, most);
    for (int64_t part = most; part >= 2 * divisor; --part)
      if (extent % part * kLeft <= extent)
        return EvenPart{*next, extent - extent % part};
    return std::nullopt;
  }
}

}  // namespace

std::optional<EvenPart> FindEvenPart(const ByteCopy& copy) {
  if (BytesOf(copy) < kLeastBytes) return std::nullopt;
  if (const auto part =
          FindEvenPart(copy, &Loop::src_stride, &Loop::dst_stride))
    return part;
  return FindEvenPart(copy, &Loop::dst_stride, &Loop::src_stride);
}

}  // namespace axis
