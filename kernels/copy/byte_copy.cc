#include "kernels/copy/byte_copy.h"

#include <algorithm>
#include <cstddef>

namespace axis {

ByteCopy ByteCopyOf(const Plan& plan) {
  ByteCopy copy;
  copy.item = plan.run / 8;
  for (const Loop& loop : plan.loops)
    copy.loops.push_back(
        {loop.extent, loop.src_stride / 8, loop.dst_stride / 8});
  return copy;
}

int64_t BytesOf(const ByteCopy& copy) {
  int64_t bytes = copy.item;
  for (const Loop& loop : copy.loops) bytes *= loop.extent;
  return bytes;
}

Offsets OffsetsAt(std::span<const Loop> loops, int64_t index) {
  Offsets at{};
  for (size_t l = loops.size(); l-- > 0;) {
    const int64_t i = index % loops[l].extent;
    at.src += i * loops[l].src_stride;
    at.dst += i * loops[l].dst_stride;
    index /= loops[l].extent;
  }
  return at;
}

void Canonicalize(ByteCopy& copy) {
  auto& loops = copy.loops;
  // Insertion sort: few loops, nearly always in order already.
  size_t n = 0;
  for (size_t i = 0; i < loops.size(); ++i) {
    const Loop loop = loops[i];
    if (loop.extent == 1) continue;
    size_t at = n++;
    for (; at > 0 && loops[at - 1].dst_stride < loop.dst_stride; --at)
      loops[at] = loops[at - 1];
    loops[at] = loop;
  }
  size_t fused = 0;
  for (size_t i = 0; i < n; ++i) {
    const Loop loop = loops[i];
    if (fused > 0) {
      Loop& outer = loops[fused - 1];
      if (outer.src_stride == loop.extent * loop.src_stride &&
          outer.dst_stride == loop.extent * loop.dst_stride) {
        outer = {outer.extent * loop.extent, loop.src_stride, loop.dst_stride};
        continue;
      }
    }
    loops[fused++] = loop;
  }
  if (fused > 0 && loops[fused - 1].src_stride == copy.item &&
      loops[fused - 1].dst_stride == copy.item)
    copy.item *= loops[--fused].extent;
  loops.resize(fused);
}

}  // namespace axis
