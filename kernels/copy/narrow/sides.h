// The loops of a copy of narrow elements: which of them run along its rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "kernels/plan.h"

namespace axis {

// A copy of matrices, or of rows if both loops are one. Strides are in
// elements.
struct Sides {
  Loop a;  // neighbours in the destination
  Loop b;  // neighbours in the source
  absl::InlinedVector<Loop, 8> outer;

  bool are_rows() const { return a.src_stride == 1; }
};

// Blocks of a matrix have so many elements on either side, or one side all.
constexpr int64_t BlockSide(int64_t item_bits) {
  return item_bits == 1 ? 2048 : 1024;
}

// Those of `loops`; nullopt if elements of either side have no neighbours.
inline std::optional<Sides> SidesOf(std::span<const Loop> loops) {
  std::optional<Loop> a, b;
  absl::InlinedVector<Loop, 8> outer;
  for (const Loop& loop : loops) {
    if (loop.dst_stride == 1) a = loop;
    if (loop.src_stride == 1) b = loop;
    if (loop.dst_stride != 1 && loop.src_stride != 1) outer.push_back(loop);
  }
  if (!a || !b) return std::nullopt;
  return Sides{*a, *b, std::move(outer)};
}

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
