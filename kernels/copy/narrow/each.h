// Loops, one index after the other.
#pragma once

#include <cstdint>
#include <span>

#include "absl/container/inlined_vector.h"
#include "kernels/plan.h"

namespace axis {

// Calls f(src, dst) for every index of `loops`, the last one innermost, where
// index 0 lies at `src` and `dst`.
template <class F>
void ForEach(std::span<const Loop> loops, int64_t src, int64_t dst, F f) {
  absl::InlinedVector<int64_t, 8> index(loops.size(), 0);
  for (;;) {
    f(src, dst);
    size_t l = loops.size();
    for (; l > 0; --l) {
      const Loop& loop = loops[l - 1];
      src += loop.src_stride, dst += loop.dst_stride;
      if (++index[l - 1] < loop.extent) break;
      src -= loop.extent * loop.src_stride;
      dst -= loop.extent * loop.dst_stride;
      index[l - 1] = 0;
    }
    if (l == 0) return;
  }
}

}  // namespace axis
