#include "kernels/copy/block_plan.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "kernels/copy/block.h"
#include "kernels/copy/scratch.h"

namespace axis {
namespace {

// A vector register block: what a transposition takes of a row at a time.
constexpr int64_t kPiece = 16;

bool IsTransposable(int64_t item) {
  return item <= kPiece && (item & (item - 1)) == 0;
}

using Loops = absl::InlinedVector<Loop, 8>;

Loop Take(Loops& loops, size_t i) {
  const Loop loop = loops[i];
  loops.erase(loops.begin() + static_cast<ptrdiff_t>(i));
  return loop;
}

std::optional<size_t> Find(const Loops& loops, int64_t Loop::*stride,
                           int64_t value) {
  for (size_t i = 0; i < loops.size(); ++i)
    if (loops[i].*stride == value) return i;
  return std::nullopt;
}

void Append(Side& side, const Loop& loop) {
  side.loops[static_cast<size_t>(side.num_loops++)] = loop;
  side.extent *= loop.extent;
  side.block = side.extent;
}

// The largest part of `extent` that is at most `most` and divides it.
int64_t LargestDivisor(int64_t extent, int64_t most) {
  for (int64_t part = std::min(extent, most); part > 1; --part)
    if (extent % part == 0) return part;
  return 1;
}

// Lets `side` take in the loops that continue it, or parts of them, until it
// is about `bytes` long: short sides make short runs.
void Grow(Side& side, int64_t Loop::*stride, int64_t item, int64_t bytes,
          Loops& loops) {
  while (side.num_loops < static_cast<int>(side.loops.size()) &&
         side.extent * item * 2 <= bytes) {
    const auto next = Find(loops, stride, side.extent * item);
    if (!next) return;
    Loop& loop = loops[*next];
    const int64_t most =
        std::min(bytes / item, kMaxOffsets) / side.extent;
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
void Cut(Side& side, int64_t item, int64_t bytes) {
  const int64_t line = std::max<int64_t>(1, kLineBytes / item);
  int64_t items = std::max(line, bytes / item / line * line);
  items = std::min(items, kMaxOffsets);
  side.block = std::min(side.extent, items);
}

// Blocks repeat along the innermost loop left, as many as make `bytes`.
void Repeat(BlockPlan& plan, Loops& loops, int64_t bytes) {
  if (loops.empty()) return;
  plan.batch = Take(loops, loops.size() - 1);
  const int64_t block = plan.item * plan.a.block * plan.b.block;
  plan.batch_block = std::clamp<int64_t>(bytes / block, 1, plan.batch.extent);
}

// The offsets of a run of at most 16 bytes that `loops` permute in place; how
// many bytes it has, or 0 if there is none.
int64_t FindShuffle(const ByteCopy& copy, std::array<uint8_t, 16>& shuffle) {
  int64_t bytes = copy.item;
  size_t first = copy.loops.size();
  while (first > 0 && bytes * copy.loops[first - 1].extent <= kPiece) {
    --first;
    if (copy.loops[first].dst_stride != bytes) return 0;
    bytes *= copy.loops[first].extent;
  }
  if (copy.loops.size() - first < 2) return 0;
  // The run must also be one in the source, and the next ones follow it.
  if (first == 0 || copy.loops[first - 1].src_stride != bytes ||
      copy.loops[first - 1].dst_stride != bytes)
    return 0;
  int64_t last = copy.item - 1;
  for (size_t l = first; l < copy.loops.size(); ++l)
    last += (copy.loops[l].extent - 1) * copy.loops[l].src_stride;
  if (last != bytes - 1) return 0;
  for (int64_t i = 0; i < bytes; ++i) {
    int64_t rest = i / copy.item, from = i % copy.item;
    for (size_t l = copy.loops.size(); l-- > first;) {
      from += rest % copy.loops[l].extent * copy.loops[l].src_stride;
      rest /= copy.loops[l].extent;
    }
    shuffle[static_cast<size_t>(i)] = static_cast<uint8_t>(from);
  }
  return bytes;
}

// Copies of runs that are no business of registers: one after the other.
void PlanRows(BlockPlan& plan, Loops& loops, bool stream_rows,
              bool stream_tiles) {
  const bool columns = !plan.columns.empty();
  plan.kernel = Kernel::kRows;
  if (!loops.empty()) {
    // Neighbours in the destination; if there are none, the nearest.
    const size_t a = columns ? loops.size() - 2 : loops.size() - 1;
    plan.a.step = loops[a].dst_stride;
    Append(plan.a, Take(loops, a));
  }
  const auto b = columns || plan.item < 4096
                     ? Find(loops, &Loop::src_stride, plan.item)
                     : std::nullopt;
  if (b) {
    plan.b.step = plan.item;
    Append(plan.b, Take(loops, *b));
  }
  const bool both = b.has_value() && plan.a.step == plan.item;
  plan.stream = both ? stream_tiles : stream_rows;
  if (plan.stream && plan.item < 512) {
    // Lines are whole only if they are put together first.
    plan.stage = plan.a.step == plan.item && plan.a.extent * plan.item >= 512;
    plan.stream = plan.stage;
  }
  Cut(plan.a, plan.item, both ? 2048 : 64 << 10);
  Cut(plan.b, plan.item, 512);
  plan.prefetch = plan.stream && both;
  plan.outer = loops;
}

}  // namespace

BlockPlan PlanBlocks(const ByteCopy& copy, std::span<const int64_t> columns,
                     int64_t total_bytes, const Machine& machine) {
  // Results that the reader will not find in cache anyway are better written
  // past it. Measured with the reader: copies of rows break even where source
  // and result fill the last level, tiles earlier.
  const bool stream_rows = total_bytes >= machine.l3 / 2;
  const bool stream_tiles = total_bytes >= machine.l3 / 100 * 32;
  BlockPlan plan;
  plan.item = copy.item;
  plan.columns = columns;
  Loops loops = copy.loops;
  if (columns.empty()) {
    if (const int64_t run = FindShuffle(copy, plan.shuffle); run > 0) {
      plan.kernel = Kernel::kShuffle;
      plan.item = run;
      while (loops.back().dst_stride < run) loops.pop_back();
      plan.batch = Take(loops, loops.size() - 1);
      plan.batch_block = plan.batch.extent;
      plan.outer = loops;
      return plan;
    }
  } else {
    // A loop of no length, for what the columns stand for.
    loops.push_back({static_cast<int64_t>(columns.size()), copy.item, 0});
  }
  const auto a = Find(loops, &Loop::dst_stride, copy.item);
  const auto b = Find(loops, &Loop::src_stride, copy.item);
  if (!IsTransposable(copy.item) || !a || !b) {
    PlanRows(plan, loops, stream_rows, stream_tiles);
    return plan;
  }
  const int64_t item = copy.item, line = kLineBytes / item;
  plan.kernel = Kernel::kTranspose;
  plan.a.step = plan.b.step = item;
  const Loop a_loop = loops[*a], b_loop = loops[*b];
  Take(loops, std::max(*a, *b));
  Take(loops, std::min(*a, *b));
  Append(plan.a, a_loop);
  Append(plan.b, b_loop);
  if (columns.empty() && item <= 8 && a_loop.extent <= 4 &&
      b_loop.extent >= line && b_loop.dst_stride == a_loop.extent * item) {
    plan.kernel = Kernel::kInterleave;
    plan.stage = plan.stream = stream_tiles;
    Cut(plan.b, item, 4096);
  } else if (item <= 8 && b_loop.extent <= 4 && a_loop.extent >= line &&
             a_loop.src_stride == b_loop.extent * item) {
    plan.kernel = Kernel::kDeinterleave;
    plan.stage = plan.stream = stream_tiles;
    Cut(plan.a, item, 4096);
  }
  if (plan.kernel != Kernel::kTranspose) {
    Repeat(plan, loops, 16 << 10);
    plan.outer = loops;
    return plan;
  }
  // How long a block is along each side, in bytes.
  const int64_t conflict = machine.l1 / 8;
  int64_t a_bytes = 1024, b_bytes = 512;
  const bool a_conflicts = a_loop.src_stride % conflict == 0;
  const bool b_conflicts =
      columns.empty() && b_loop.dst_stride % conflict == 0;
  if (stream_tiles) {
    plan.stage = plan.stream = plan.prefetch = true;
    b_bytes = a_conflicts || b_conflicts ? 256 : 128;
  } else if (a_conflicts && b_conflicts && total_bytes >= (512 << 10)) {
    plan.stage = plan.prefetch = true;
    a_bytes = 512;
    b_bytes = 256;
  } else if (columns.empty() && b_loop.dst_stride % (conflict / 2) == 0) {
    b_bytes = 64;
  }
  Grow(plan.a, &Loop::dst_stride, item, a_bytes, loops);
  if (columns.empty()) Grow(plan.b, &Loop::src_stride, item, b_bytes, loops);
  Cut(plan.a, item, a_bytes);
  Cut(plan.b, item, b_bytes);
  if (plan.stage && plan.a.extent * item < 256)
    plan.stage = plan.stream = plan.prefetch = false;
  // Blocks that are close together on both sides share lines and pages.
  std::sort(loops.begin(), loops.end(), [](const Loop& x, const Loop& y) {
    return x.src_stride + x.dst_stride > y.src_stride + y.dst_stride;
  });
  Repeat(plan, loops, 16 << 10);
  plan.outer = loops;
  return plan;
}

}  // namespace axis
