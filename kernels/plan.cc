#include "kernels/plan.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace axis {
namespace {

// Appends the loops over one axis, innermost first, in elements: the common
// refinement of the modes on both sides. False if they do not nest.
bool AppendLoops(Axis src, Axis dst, absl::InlinedVector<Loop, 8>& loops) {
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

bool IsWholeUnits(const Plan& plan) {
  if (plan.item_bits % 8 == 0) return true;
  const int64_t unit = UnitBytes(plan.item_bits) * 8;
  auto whole = [&](int64_t n) { return n % unit == 0; };
  return whole(plan.src_offset) && whole(plan.dst_offset) && whole(plan.run) &&
         std::all_of(plan.loops.begin(), plan.loops.end(), [&](const Loop& l) {
           return whole(l.src_stride) && whole(l.dst_stride);
         });
}

int64_t BitsOf(const Plan& plan) {
  int64_t bits = plan.run;
  for (const Loop& loop : plan.loops) bits *= loop.extent;
  return plan.places.empty() ? bits
                             : bits * static_cast<int64_t>(plan.places.size());
}

bool IsSlice(const Plan& plan, int64_t dst_bytes) {
  return plan.loops.empty() && plan.places.empty() && plan.run % 8 == 0 &&
         plan.run / 8 == dst_bytes &&
         plan.src_offset % UnitBits(plan.item_bits) == 0;
}

int64_t PackedBytes(int64_t elements, int64_t item_bits) {
  if (item_bits % 8 == 0) return elements * (item_bits / 8);
  const int64_t unit = UnitBits(item_bits), per_unit = unit / item_bits;
  return (elements / per_unit + (elements % per_unit != 0)) * (unit / 8);
}

std::optional<int64_t> StoredBytes(std::span<const int64_t> shape,
                                   Layout layout, int64_t item_bits) {
  // Bytes; elements if they are narrow, of which there are more.
  int64_t size = std::max<int64_t>(item_bits / 8, 1);
  const int64_t width = size;
  bool empty = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t extent = std::max<int64_t>(shape[i], 1);
    const int64_t block = i == 1 ? std::max<int64_t>(layout.block, 1) : 1;
    if (__builtin_add_overflow(extent, (block - extent % block) % block,
                               &extent) ||
        __builtin_mul_overflow(size, extent, &size))
      return std::nullopt;
    empty |= shape[i] == 0;
  }
  return empty ? 0 : PackedBytes(size / width, item_bits);
}

namespace {

// Insertion sort: there are few loops, nearly in order, and std::stable_sort
// would allocate.
template <class Before>
void Sort(absl::InlinedVector<Loop, 8>& loops, Before before) {
  for (size_t i = 1; i < loops.size(); ++i) {
    if (!before(loops[i], loops[i - 1])) continue;  // most stay: copy nothing
    const Loop loop = loops[i];
    size_t at = i;
    for (; at > 0 && before(loop, loops[at - 1]); --at)
      loops[at] = loops[at - 1];
    loops[at] = loop;
  }
}

bool IsOuter(const Loop& a, const Loop& b) {
  return a.dst_stride > b.dst_stride;
}

}  // namespace

std::optional<Plan> CompilePlan(const View& src, const View& dst,
                                int64_t item_bits) {
  assert(ShapeOf(src) == ShapeOf(dst));
  if (SizeOf(src) == 0)
    return Plan{.item_bits = item_bits, .loops = {}, .places = {}};
  absl::InlinedVector<Loop, 8> loops;
  for (size_t i = src.rank(); i-- > 0;)
    if (!AppendLoops(src.axis(i), dst.axis(i), loops)) return std::nullopt;
  std::reverse(loops.begin(), loops.end());  // so that they are nearly sorted
  Sort(loops, IsOuter);
  std::optional<Plan> plan(std::in_place);
  plan->item_bits = plan->run = item_bits;
  plan->src_offset = src.offset * item_bits;
  plan->dst_offset = dst.offset * item_bits;
  auto& fused = plan->loops;  // in elements
  for (const Loop& loop : loops) {
    if (fused.empty() || !CanFuse(fused.back(), loop)) {
      fused.push_back(loop);
    } else {
      const int64_t extent = fused.back().extent * loop.extent;
      fused.back() = {extent, loop.src_stride, loop.dst_stride};
    }
  }
  if (!fused.empty() && fused.back().src_stride == 1 &&
      fused.back().dst_stride == 1) {
    plan->run *= fused.back().extent;
    fused.pop_back();
  }
  for (Loop& loop : fused) {
    loop.src_stride *= item_bits;
    loop.dst_stride *= item_bits;
  }
  return plan;
}

std::optional<Plan> CompilePlan(std::span<const View> src,
                                std::span<const View> dst, int64_t item_bits) {
  if (item_bits % 8 != 0 || item_bits > 128 ||
      !std::has_single_bit(static_cast<uint64_t>(item_bits)))
    return std::nullopt;
  std::optional<Plan> all;
  for (size_t i = 0; i < src.size(); ++i) {
    std::optional<Plan> plan = CompilePlan(src[i], dst[i], item_bits);
    if (!plan || plan->run != item_bits) return std::nullopt;
    const int64_t from = plan->src_offset, to = plan->dst_offset;
    if (!all) {
      all = *std::move(plan);
      all->places.reserve(src.size());
    } else if (plan->loops != all->loops) {
      return std::nullopt;
    }
    all->places.push_back({from - all->src_offset, to - all->dst_offset});
  }
  return all;
}

Plan CompilePlan(const View& src, int64_t item_bits) {
  Plan plan;  // the only one: to move it takes as long as to make it
  plan.item_bits = item_bits;
  auto& loops = plan.loops;
  // In elements. What is written is dense: what is read decides what is fused.
  int64_t extent = 1, stride = 0;  // of the loop that may grow
  for (const Mode& mode : src.modes) {
    if (mode.extent == 0) {
      loops.clear();
      return plan;
    }
    if (mode.extent == 1) continue;
    if (stride == mode.extent * mode.stride) {
      extent *= mode.extent;
    } else {
      if (extent > 1) loops.push_back({extent, stride, 0});
      extent = mode.extent;
    }
    stride = mode.stride;
  }
  plan.src_offset = src.offset * item_bits;
  if (extent > 1 && stride != 1) {
    loops.push_back({extent, stride, 0});
    extent = 1;
  }
  plan.run = extent * item_bits;
  int64_t dst_stride = plan.run;
  Loop* const first = loops.data();
  for (size_t i = loops.size(); i-- > 0;) {
    first[i].src_stride *= item_bits;
    first[i].dst_stride = dst_stride;
    dst_stride *= first[i].extent;
  }
  return plan;
}

namespace {

// Cuts a plan at positions of its source. The loops are sorted by source
// stride, largest first; as no two items overlap, what one index of a loop
// reads ends before the next one begins.
class Cutter {
 public:
  Cutter(const Plan& plan, int64_t begin, int64_t end,
         absl::FunctionRef<void(const Plan&)> f)
      : begin_(begin), end_(end), f_(f), part_(plan) {
    Sort(part_.loops, [](const Loop& a, const Loop& b) {
      return a.src_stride > b.src_stride;
    });
    spans_.resize(part_.loops.size() + 1);
    spans_.back() = part_.run;
    for (size_t k = part_.loops.size(); k-- > 0;)
      spans_[k] = spans_[k + 1] +
                  (part_.loops[k].extent - 1) * part_.loops[k].src_stride;
  }

  // What the loops from `k` on read, all of it or what lies within the range.
  void Cut(size_t k) {
    const int64_t first = part_.src_offset, last = first + spans_[k];
    if (begin_ <= first && last <= end_) {
      Emit(k);
    } else if (begin_ < last && first < end_) {
      k == part_.loops.size() ? CutRun() : CutLoop(k);
    }
  }

 private:
  void CutRun() {
    const Plan whole = part_;
    const int64_t skip = std::max<int64_t>(0, begin_ - part_.src_offset);
    part_.src_offset += skip;
    part_.dst_offset += skip;
    part_.run = std::min(whole.run - skip, end_ - part_.src_offset);
    Emit(part_.loops.size());
    part_ = whole;
  }

  // The indices wholly inside go as one part; at most one at either end is cut
  // further.
  void CutLoop(size_t k) {
    const Loop loop = part_.loops[k];
    const int64_t src = part_.src_offset, dst = part_.dst_offset;
    auto index = [&](int64_t at) {  // the first index that begins at or after
      return std::clamp<int64_t>(
          (at - src + loop.src_stride - 1) / loop.src_stride, 0, loop.extent);
    };
    const int64_t inside = begin_ <= src ? 0 : index(begin_);
    // Past the last index that ends at or before end_.
    const int64_t past =
        end_ < src + spans_[k + 1]
            ? 0
            : std::min((end_ - src - spans_[k + 1]) / loop.src_stride + 1,
                       loop.extent);
    auto at = [&](int64_t i, int64_t extent) {
      part_.src_offset = src + i * loop.src_stride;
      part_.dst_offset = dst + i * loop.dst_stride;
      part_.loops[k].extent = extent;
    };
    if (inside > 0) at(inside - 1, 1), Cut(k + 1);
    if (inside < past) at(inside, past - inside), Emit(k);
    if (past < loop.extent && past >= inside) at(past, 1), Cut(k + 1);
    part_.src_offset = src;
    part_.dst_offset = dst;
    part_.loops[k] = loop;
  }

  // Hands the loops from `k` on over; those before are at one index.
  void Emit(size_t k) {
    if (part_.run <= 0) return;
    Plan part = part_;
    part.loops.erase(part.loops.begin(),
                     part.loops.begin() + static_cast<ptrdiff_t>(k));
    part.loops.erase(
        std::remove_if(part.loops.begin(), part.loops.end(),
                       [](const Loop& l) { return l.extent == 1; }),
        part.loops.end());
    Sort(part.loops, IsOuter);
    f_(part);
  }

  const int64_t begin_, end_;
  const absl::FunctionRef<void(const Plan&)> f_;
  Plan part_;  // the loops before the current one are at one index
  absl::InlinedVector<int64_t, 9>
      spans_;  // what the loops from k on reach over
};

}  // namespace

void ForEachPart(const Plan& plan, int64_t begin, int64_t end,
                 absl::FunctionRef<void(const Plan& part)> f) {
  if (plan.run > 0) Cutter(plan, begin, end, f).Cut(0);
}

}  // namespace axis
