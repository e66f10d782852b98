// Building the sides of blocks, and what repeats them, from the loops of a
// copy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>

#include "absl/container/inlined_vector.h"
#include "kernels/copy/block.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/plan/block_plan.h"

namespace axis {

using Loops = absl::InlinedVector<Loop, 8>;

inline constexpr int64_t kPage = 4096;

// Runs this long are as well read in any order.
inline constexpr int64_t kLongItem = 512;

// So much of runs that follow one another is moved in one go. A block holds at
// most a quarter of it, for the place of each run is written down first; more
// are its repetitions.
inline constexpr int64_t kRunsBytes = 256 << 10;

// Short repetitions are moved together until they make half of a first cache.
inline constexpr int64_t kRepeatBytes = 16 << 10;

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

// The divisor of `extent`, at most twice `part` and at most `most`, whose ratio
// to `part` is next to 1.
inline int64_t NearestDivisor(int64_t extent, int64_t part, int64_t most) {
  const int64_t below = LargestDivisor(extent, part);
  for (int64_t above = part + 1; above <= std::min(2 * part, most); ++above)
    if (extent % above == 0) return above * below < part * part ? above : below;
  return below;
}

// The largest of as few equal parts of `extent` as there are, if they are at
// most `most`: a rest may be as slow as a whole one.
inline int64_t EqualPart(int64_t extent, int64_t most) {
  const int64_t parts = (extent + most - 1) / most;
  return (extent + parts - 1) / parts;
}

// The part of `extent` that makes whole lines of repetitions that are none; 1
// if no part does. Up to twice `most` is better than lines written in parts.
inline int64_t PartOfLines(int64_t extent, int64_t most, int64_t repetition) {
  const int64_t in_lines = kLineBytes / std::gcd(repetition, kLineBytes);
  if (in_lines == 1 || in_lines > most || extent % in_lines != 0) return 1;
  return in_lines * LargestDivisor(extent / in_lines, 2 * most / in_lines);
}

// Which parts of loops a side takes in.
enum class Part : uint8_t {
  kAtMost,   // as large as fits
  kLines,    // those that make whole lines, if any do
  kNearest,  // somewhat too large rather than far too small
};

// Lets `side` take in the loops that continue it, or parts of them, until it
// is about `bytes` long: short sides make short runs.
inline void Grow(Side& side, int64_t Loop::*stride, int64_t item, int64_t bytes,
                 Loops& loops, Part parts = Part::kAtMost) {
  while (side.num_loops < static_cast<int>(side.loops.size()) &&
         side.extent * item * 2 <= bytes) {
    const auto next = Find(loops, stride, side.extent * item);
    if (!next) return;
    Loop& loop = loops[*next];
    const int64_t most = std::min(bytes / item, kMaxOffsets) / side.extent;
    int64_t part = 1;
    if (parts == Part::kLines)
      part = PartOfLines(loop.extent, most, side.extent * item);
    if (parts == Part::kNearest)
      part = NearestDivisor(loop.extent, most, kMaxOffsets / side.extent);
    if (part == 1) part = LargestDivisor(loop.extent, most);
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

// Cuts `side` into equal blocks of `bytes` up to twice as much, or of `bytes`
// if those have more than `most` items: a rest is as slow as a whole one.
inline void CutEvenly(Side& side, int64_t item, int64_t bytes, int64_t most) {
  const int64_t parts = std::max<int64_t>(1, side.extent * item / bytes);
  const int64_t part = (side.extent + parts - 1) / parts;
  const int64_t line = std::max<int64_t>(1, kLineBytes / item);
  const int64_t even = (part + line - 1) / line * line;
  Cut(side, item, even <= most ? even * item : bytes);
}

// Blocks repeat along the innermost loop left, as many as make `bytes`.
inline void Repeat(BlockPlan& plan, Loops& loops, int64_t bytes) {
  if (loops.empty()) return;
  plan.batch = Take(loops, loops.size() - 1);
  const int64_t block = plan.item * plan.a.block * plan.b.block;
  plan.batch_block = std::clamp<int64_t>(bytes / block, 1, plan.batch.extent);
}

// Whether blocks that are not to grow repeat so often, along the loops next to
// them on either side, that to begin with them does not show.
inline bool RepeatOften(const Loops& loops) {
  constexpr int64_t kOften = 8;
  return loops.empty() ||
         (std::ranges::min_element(loops, {}, &Loop::src_stride)->extent >=
              kOften &&
          std::ranges::min_element(loops, {}, &Loop::dst_stride)->extent >=
              kOften);
}

// Whether what `loop` repeats starts at a line whenever it does so once.
inline bool KeepsLines(const Loop& loop) {
  return loop.dst_stride % kLineBytes == 0;
}

// Whether `x` steps farther than `y`. Blocks that are close together on both
// sides share lines and pages.
inline bool IsWider(const Loop& x, const Loop& y) {
  return x.src_stride + x.dst_stride > y.src_stride + y.dst_stride;
}

// Whether `x` steps farther than `y` in the source.
inline bool ReadsFarther(const Loop& x, const Loop& y) {
  return x.src_stride > y.src_stride;
}

// Blocks that begin anew after less than this take longer than it takes to
// write lines out of order.
inline constexpr int64_t kRepeatedOften = 4 << 10;

// Sorts `loops`, along which a block of few items on one side is repeated. What
// the second cache does not hold is read from end to end, for that a core
// foresees; but not if too little were moved in one go then. With lookups only
// past the caches: in them it was measured without. So is what else would begin
// anew too often. Else rows that are no longer than lines are best read one
// line after the other.
inline void OrderRepetitions(const BlockPlan& plan, Loops& loops,
                             int64_t total_bytes, const Machine& machine) {
  if (loops.empty()) return;
  const Loop& next = *std::ranges::min_element(loops, {}, &Loop::src_stride);
  const int64_t block = plan.item * plan.a.block * plan.b.block;
  const int64_t in_one_go = block * next.extent;
  const int64_t otherwise = block * loops.back().extent;
  const int64_t least = total_bytes < machine.l3 / 8 ? 2 << 10 : 1 << 10;
  const bool past_near =
      total_bytes > (machine.LooksUp() ? machine.l3 / 4 : machine.l2);
  if ((past_near && in_one_go >= least) ||
      (otherwise < kRepeatedOften && in_one_go >= 2 * otherwise)) {
    std::sort(loops.begin(), loops.end(), ReadsFarther);
  } else if (std::max(plan.a.extent, plan.b.extent) * plan.item <= kLineBytes) {
    std::sort(loops.begin(), loops.end(), IsWider);
  }
}

// Whether all columns start at a line, in all blocks.
inline bool AreLines(const BlockPlan& plan, std::span<const Loop> outer) {
  return std::ranges::all_of(
             plan.columns,
             [](int64_t column) { return column % kLineBytes == 0; }) &&
         std::ranges::all_of(outer, KeepsLines) &&
         std::ranges::all_of(plan.b.loops.begin(),
                             plan.b.loops.begin() + plan.b.num_loops,
                             KeepsLines);
}

}  // namespace axis
