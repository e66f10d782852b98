// Tiny copies: items, runs or matrices that are moved before a plan for blocks
// of them would be made.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernels/copy/block.h"
#include "kernels/copy/plan/block_plan.h"
#include "kernels/plan.h"

namespace axis {

// So many items are moved one by one in less time than a plan takes: of one
// target among several, which are better read together, and of a single one.
inline constexpr int64_t kTinyItems = 64;
inline constexpr int64_t kTinyItemsAlone = 256;

// So many runs the C library moves in less time than a plan takes.
inline constexpr int64_t kFewRuns = 32;

// Of matrices so large the first cache holds both sides.
inline constexpr int64_t kMatrixBytes = 16 << 10;

// Calls `copy(dst, src)` for every index of `loops`, whose strides count bits.
template <class Copy>
void CopyItems(std::span<const Loop> loops, const std::byte* src,
               std::byte* dst, Copy copy) {
  const auto bytes = [](int64_t bits) { return bits >> 3; };  // whole ones
  const Loop* loop = loops.data();
  if (loops.size() > 2) {
    for (int64_t i = 0; i < loop->extent; ++i)
      CopyItems(loops.subspan(1), src + i * bytes(loop->src_stride),
                dst + i * bytes(loop->dst_stride), copy);
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
      copy(to, from);
      from += src_step;
      to += dst_step;
    }
    for (int64_t pairs = inner / 2; pairs > 0; --pairs) {
      copy(to, from);
      copy(to + dst_step, from + src_step);
      from += 2 * src_step;
      to += 2 * dst_step;
    }
  }
}

// How many runs `plan` has; more than `most` if so many are too many.
inline int64_t CountRuns(const Plan& plan, int64_t most) {
  int64_t runs = 1;
  for (const Loop& loop : plan.loops)
    if ((runs *= loop.extent) > most) break;
  return runs;
}

// Carries out `plan` if it has `most` items or fewer, of a usual size; else
// returns false.
inline bool CopyTiny(const Plan& plan, const std::byte* src, std::byte* dst,
                     int64_t most) {
  if (plan.item_bits % 8 != 0 || plan.loops.empty() || !plan.places.empty() ||
      CountRuns(plan, most) > most)
    return false;
  src += plan.src_offset / 8;
  dst += plan.dst_offset / 8;
  auto copy_items = [&](auto item) {
    CopyItems(plan.loops, src, dst, [](std::byte* to, const std::byte* from) {
      std::memcpy(to, from, sizeof(item));
    });
    return true;
  };
  switch (plan.run) {
    case 8:
      return copy_items(uint8_t{});
    case 16:
      return copy_items(uint16_t{});
    case 32:
      return copy_items(uint32_t{});
    case 64:
      return copy_items(uint64_t{});
    default:
      return false;
  }
}

// Carries out `plan` if it is a few runs of bytes, as whoever takes outer axes
// apart has it; else returns false. For what one worker keeps in cache.
inline bool CopyFewRuns(const Plan& plan, const std::byte* src,
                        std::byte* dst) {
  if (!plan.places.empty() || CountRuns(plan, kFewRuns) > kFewRuns ||
      !IsWholeUnits(plan))
    return false;
  const int64_t bytes = plan.run / 8;
  src += plan.src_offset / 8;
  dst += plan.dst_offset / 8;
  auto copy = [bytes](std::byte* to, const std::byte* from) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  };
  if (plan.loops.empty()) return copy(dst, src), true;
  return CopyItems(plan.loops, src, dst, copy), true;
}

// Carries out `plan` if it transposes a matrix of a few KiB that has no gaps;
// else returns false.
inline bool CopyMatrix(const Plan& plan, const std::byte* src,
                       const uint8_t* src_end, std::byte* dst) {
  if (plan.item_bits % 8 != 0 || plan.loops.size() != 2 || !plan.places.empty())
    return false;
  const Loop& b = plan.loops[0];
  const Loop& a = plan.loops[1];
  const int64_t item = plan.run / 8;
  const auto [few, many] = std::minmax(a.extent, b.extent);
  const bool interleaved = AreInterleaved(item, few, many);
  if (b.src_stride != plan.run || a.dst_stride != plan.run ||
      a.src_stride != b.extent * plan.run ||
      b.dst_stride != a.extent * plan.run || !IsTransposable(item) ||
      (!interleaved && (few <= kMostInterleaved || many > kMaxOffsets)) ||
      few * many * item > kMatrixBytes)
    return false;
  MoveBlocks(PlanMatrix(item, a.extent, b.extent),
             reinterpret_cast<const uint8_t*>(src + plan.src_offset / 8),
             src_end, reinterpret_cast<uint8_t*>(dst + plan.dst_offset / 8));
  return true;
}

}  // namespace axis
