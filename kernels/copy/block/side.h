// Building the sides of blocks from the loops of a copy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block_plan.h"

namespace axis {

using Loops = absl::InlinedVector<Loop, 8>;

inline Loop Take(Loops& loops, size_t i) {
  const Loop loop = loops[i];
  loops.erase(loops.begin() + static_cast<ptrdiff_t>(i));
  return loop;
}

inline std::optional<size_t> Find(const Loops& loops, int64_t Loop::*stride,
                                  int64_t value) {
  for (size_t i = 0; i < loops.size(); ++i)
    if (loops[i].*stride == value) return i;
  return std::nullopt;
}

inline void Append(Side& side, const Loop& loop) {
  side.loops[static_cast<size_t>(side.num_loops++)] = loop;
  side.extent *= loop.extent;
  side.block = side.extent;
}

// The largest part of `extent` that is at most `most` and divides it.
inline int64_t LargestDivisor(int64_t extent, int64_t most) {
  for (int64_t part = std::min(extent, most); part > 1; --part)
    if (extent % part == 0) return part;
  return 1;
}

// Lets `side` take in the loops that continue it, or parts of them, until it
// is about `bytes` long: short sides make short runs.
inline void Grow(Side& side, int64_t Loop::*stride, int64_t item, int64_t bytes,
                 Loops& loops) {
  while (side.num_loops < static_cast<int>(side.loops.size()) &&
         side.extent * item * 2 <= bytes) {
    const auto next = Find(loops, stride, side.extent * item);
    if (!next) return;
    Loop& loop = loops[*next];
    const int64_t most = std::min(bytes / item, kMaxOffsets) / side.extent;
    const int64_t part = LargestDivisor(loop.extent, most);
    if (part == 1) return;
    Append(side, {part, loop.src_stride, loop.dst_stride});
    if (part == loop.extent) {
      Take(loops, *next);
    } else {
      loop = {loop.extent / part, loop.src_stride * part,
              loop.dst_stride * part};
      return;
    }
  }
}

// Cuts `side` into blocks of about `bytes`, whole lines where there are any.
inline void Cut(Side& side, int64_t item, int64_t bytes) {
  const int64_t line = std::max<int64_t>(1, kLineBytes / item);
  int64_t items = std::max(line, bytes / item / line * line);
  items = std::min(items, kMaxOffsets);
  side.block = std::min(side.extent, items);
}

}  // namespace axis
