// Tiny copies: so few items, or runs, that they are moved before a plan for
// blocks of them would be made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernels/plan.h"

namespace axis {

inline constexpr int64_t kTinyItems = 64;

// Copies a T for every index of `loops`, whose strides count bits.
template <class T>
void CopyItems(std::span<const Loop> loops, const std::byte* src,
               std::byte* dst) {
  // The innermost loop; where there are two, both, without another call.
  const Loop inner = loops.back();
  const Loop outer =
      loops.size() == 1 ? Loop{1, 0, 0} : loops[loops.size() - 2];
  const int64_t src_step = inner.src_stride / 8;
  const int64_t dst_step = inner.dst_stride / 8;
  if (loops.size() > 2) {
    for (int64_t i = 0; i < loops[0].extent; ++i)
      CopyItems<T>(loops.subspan(1), src + i * (loops[0].src_stride / 8),
                   dst + i * (loops[0].dst_stride / 8));
    return;
  }
  for (int64_t i = 0; i < outer.extent; ++i) {
    const std::byte* from = src + i * (outer.src_stride / 8);
    std::byte* to = dst + i * (outer.dst_stride / 8);
    for (int64_t k = inner.extent; k > 0; --k, from += src_step, to += dst_step)
      std::memcpy(to, from, sizeof(T));
  }
}

// Carries out `plan` if it is tiny, its items of a usual size; else returns
// false.
inline bool CopyTiny(const Plan& plan, const std::byte* src, std::byte* dst) {
  if (plan.item_bits % 8 != 0 || plan.loops.empty() || !plan.places.empty())
    return false;
  int64_t items = 1;
  for (const Loop& loop : plan.loops)
    if ((items *= loop.extent) > kTinyItems) return false;
  src += plan.src_offset / 8;
  dst += plan.dst_offset / 8;
  switch (plan.run) {
    case 8:
      return CopyItems<uint8_t>(plan.loops, src, dst), true;
    case 16:
      return CopyItems<uint16_t>(plan.loops, src, dst), true;
    case 32:
      return CopyItems<uint32_t>(plan.loops, src, dst), true;
    case 64:
      return CopyItems<uint64_t>(plan.loops, src, dst), true;
    default:
      return false;
  }
}

// Carries out `plan` if it is one run of bytes, as whoever takes outer axes
// apart has it; else returns false. For runs that one worker keeps in cache.
inline bool CopySingleRun(const Plan& plan, const std::byte* src,
                          std::byte* dst) {
  if (!plan.loops.empty() || !plan.places.empty() ||
      (plan.run | plan.src_offset | plan.dst_offset) % 8 != 0)
    return false;
  std::memcpy(dst + plan.dst_offset / 8, src + plan.src_offset / 8,
              static_cast<size_t>(plan.run / 8));
  return true;
}

}  // namespace axis
