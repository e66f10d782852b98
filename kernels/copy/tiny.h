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
  const auto bytes = [](int64_t bits) { return bits >> 3; };  // whole ones
  const Loop* loop = loops.data();
  if (loops.size() > 2) {
    for (int64_t i = 0; i < loop->extent; ++i)
      CopyItems<T>(loops.subspan(1), src + i * bytes(loop->src_stride),
                   dst + i * bytes(loop->dst_stride));
    return;
  }
  // Where there are two loops, both, without another call.
  int64_t extent = 1, src_outer = 0, dst_outer = 0;
  if (loops.size() == 2) {
    extent = loop->extent;
    src_outer = bytes(loop->src_stride);
    dst_outer = bytes(loop->dst_stride);
    ++loop;
  }
  const int64_t inner = loop->extent;
  const int64_t src_step = bytes(loop->src_stride);
  const int64_t dst_step = bytes(loop->dst_stride);
  for (; extent > 0; --extent, src += src_outer, dst += dst_outer) {
    const std::byte* from = src;
    std::byte* to = dst;
    if (inner % 2 == 1) {
      std::memcpy(to, from, sizeof(T));
      from += src_step;
      to += dst_step;
    }
    for (int64_t pairs = inner / 2; pairs > 0; --pairs) {
      std::memcpy(to, from, sizeof(T));
      std::memcpy(to + dst_step, from + src_step, sizeof(T));
      from += 2 * src_step;
      to += 2 * dst_step;
    }
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
