#include "kernels/plan.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace axis {
namespace {

// Appends the loops over one axis, innermost first, in elements: the common
// refinement of the modes on both sides. False if they do not nest.
bool AppendLoops(const Axis& src, const Axis& dst,
                 absl::InlinedVector<Loop, 8>& loops) {
  auto s = src.rbegin(), d = dst.rbegin();
  int64_t s_done = 1, d_done = 1;  // how much of *s and *d is dealt out
  for (;;) {
    while (s != src.rend() && s->extent == s_done) ++s, s_done = 1;
    while (d != dst.rend() && d->extent == d_done) ++d, d_done = 1;
    if (s == src.rend() || d == dst.rend()) return true;
    const int64_t s_left = s->extent / s_done, d_left = d->extent / d_done;
    const int64_t extent = std::min(s_left, d_left);
    if (s_left % extent != 0 || d_left % extent != 0) return false;
    loops.push_back({extent, s->stride * s_done, d->stride * d_done});
    s_done *= extent;
    d_done *= extent;
  }
}

bool CanFuse(const Loop& outer, const Loop& inner) {
  return outer.src_stride == inner.extent * inner.src_stride &&
         outer.dst_stride == inner.extent * inner.dst_stride;
}

// 3- and 6-bit elements are stored in groups whose bits interleave; only whole
// groups of 3 bytes are contiguous.
int64_t UnitBits(int64_t item_bits) { return item_bits % 3 == 0 ? 24 : 8; }

}  // namespace

int64_t BitsOf(const Plan& plan) {
  int64_t bits = plan.run;
  for (const Loop& loop : plan.loops) bits *= loop.extent;
  return bits;
}

bool IsSlice(const Plan& plan) {
  const int64_t unit = UnitBits(plan.item_bits);
  return plan.loops.empty() && plan.src_offset % unit == 0 &&
         plan.dst_offset == 0 && plan.run % unit == 0;
}

int64_t PackedBytes(int64_t elements, int64_t item_bits) {
  if (item_bits % 8 == 0) return elements * (item_bits / 8);
  const int64_t unit = UnitBits(item_bits), per_unit = unit / item_bits;
  return (elements / per_unit + (elements % per_unit != 0)) * (unit / 8);
}

std::optional<Plan> CompilePlan(const View& src, const View& dst,
                                int64_t item_bits) {
  assert(ShapeOf(src) == ShapeOf(dst));
  Plan plan{.item_bits = item_bits, .loops = {}};
  if (SizeOf(src) == 0) return plan;
  absl::InlinedVector<Loop, 8> loops;  // innermost first, in elements
  for (size_t i = src.axes.size(); i-- > 0;)
    if (!AppendLoops(src.axes[i], dst.axes[i], loops)) return std::nullopt;
  std::stable_sort(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) {
    return a.dst_stride < b.dst_stride;
  });
  int64_t run = 1;
  for (const Loop& loop : loops) {
    if (plan.loops.empty() && loop.src_stride == run &&
        loop.dst_stride == run) {
      run *= loop.extent;
    } else if (!plan.loops.empty() && CanFuse(loop, plan.loops.back())) {
      plan.loops.back().extent *= loop.extent;
    } else {
      plan.loops.push_back(loop);
    }
  }
  std::reverse(plan.loops.begin(), plan.loops.end());
  for (Loop& loop : plan.loops) {
    loop.src_stride *= item_bits;
    loop.dst_stride *= item_bits;
  }
  plan.src_offset = src.offset * item_bits;
  plan.dst_offset = dst.offset * item_bits;
  plan.run = run * item_bits;
  return plan;
}

Plan CompilePlan(const View& src, int64_t item_bits) {
  return *CompilePlan(src, Dense(ShapeOf(src)), item_bits);
}

}  // namespace axis
