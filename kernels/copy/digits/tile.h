// Where tiles are moved: what the loops come to that are in none of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "kernels/copy/digits/digits.h"
#include "kernels/copy/plan/side.h"

namespace axis {

// Lines are written whole, and that much of the source is read together.
inline constexpr int64_t kRunBytes = 64;
inline constexpr int64_t kReadBytes = 256;

// Takes the innermost `part` of loop `i`, and leaves the rest.
inline Loop TakePart(Loops& loops, size_t i, int64_t part) {
  Loop& loop = loops[i];
  if (part == loop.extent) return Take(loops, i);
  const Loop taken = {part, loop.src_stride, loop.dst_stride};
  loop = {loop.extent / part, loop.src_stride * part, loop.dst_stride * part};
  return taken;
}

// Moves loops to `inner` that go on along `stride` after `bytes`, or parts of
// them, until they come to `most`, with what is `known` already.
inline void TakeOn(Loops& loops, int64_t Loop::*stride, int64_t bytes,
                   int64_t most, const Loops& known, Loops& inner) {
  while (bytes < most) {
    if (const auto next = Find(known, stride, bytes)) {
      bytes *= known[*next].extent;
    } else if (const auto taken = Find(inner, stride, bytes)) {
      bytes *= inner[*taken].extent;
    } else {
      const auto found = Find(loops, stride, bytes);
      if (!found) return;
      const int64_t part = LargestDivisor(loops[*found].extent, most / bytes);
      if (part == 1) return;
      inner.push_back(TakePart(loops, *found, part));
      bytes *= part;
    }
  }
}

// Writes where `loops` are at each of their indices, those of the first one
// first; returns how many there are.
inline size_t ListOffsets(const Loops& loops, std::span<Offsets> offsets) {
  size_t count = 1;
  offsets[0] = {0, 0};
  for (const Loop& loop : loops) {
    for (int64_t i = 1; i < loop.extent; ++i)
      for (size_t k = 0; k < count; ++k)
        offsets[static_cast<size_t>(i) * count + k] = {
            offsets[k].src + i * loop.src_stride,
            offsets[k].dst + i * loop.dst_stride};
    count *= static_cast<size_t>(loop.extent);
  }
  return count;
}

// Finds the places of a tile of `inner` loops, at most `most` of them; others
// of `loops` are added to those. The rest are the outer ones.
inline void FillPlaces(Digits& digits, Loops& loops, Loops& inner,
                       int64_t most) {
  // The source is read from end to end, as far as that goes.
  std::ranges::sort(loops, std::greater(), &Loop::src_stride);
  int64_t places = 1;
  for (const Loop& loop : inner) places *= loop.extent;
  while (!loops.empty()) {
    const int64_t part = LargestDivisor(loops.back().extent, most / places);
    if (part == 1) break;
    inner.push_back(TakePart(loops, loops.size() - 1, part));
    places *= part;
  }
  digits.num_places = ListOffsets(inner, digits.places);
  digits.outer = std::move(loops);
}

}  // namespace axis
