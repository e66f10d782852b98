// Walks: the blocks of a block plan, one after the other.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/copy/block.h"

namespace axis {

class BlockWalk {
 public:
  // `rows` and `columns` have room for kMaxOffsets; the blocks refer to them.
  // If `along`, blocks follow one another along side A first, else side B.
  BlockWalk(const BlockPlan& plan, bool along, const uint8_t* src,
            const uint8_t* src_end, uint8_t* dst, int64_t* rows,
            int64_t* columns)
      : plan_(plan),
        along_(along),
        src_(src),
        src_end_(src_end),
        dst_(dst),
        rows_(rows),
        columns_(columns) {
    const int64_t most = MostOffsets(plan);
    FillOffsets(plan.a, &Loop::src_stride, most, rows);
    if (plan.columns.empty()) {
      FillOffsets(plan.b, &Loop::dst_stride, most, columns);
    } else {
      columns_ = plan.columns.data();
    }
    std::fill_n(index_.begin(), plan.outer.size(), 0);
  }

  // Whether blocks differ in nothing but where they begin.
  bool AreAlike() const {
    return plan_.a.block >= plan_.a.extent && plan_.b.block >= plan_.b.extent &&
           plan_.batch_block >= plan_.batch.extent;
  }

  // Goes from `block` to the next; returns false if there is none. To find all
  // of it anew takes as long as to move some hundred bytes.
  // REQUIRES: AreAlike().
  bool NextAlike(Block& block) {
    if (done_) return false;
    block.src = src_;
    block.dst = dst_;
    AdvanceOuter();
    return true;
  }

  // Finds the next block; returns false if there is none.
  bool Next(Block& block) {
    if (done_) return false;
    const bool as_one = plan_.together != Together::kNone;
    const Extent t = CutAt(t_, plan_.batch.extent, plan_.batch_block,
                           as_one ? plan_.batch_block : 1);
    // Few items at the end would be slow; take some again instead.
    const int64_t least = kLineBytes / std::min(plan_.item, kLineBytes);
    const Extent a = CutAt(a_, plan_.a.extent, plan_.a.block, least);
    const Extent b = CutAt(b_, plan_.b.extent, plan_.b.block, least);
    block.item = plan_.item;
    block.src =
        src_ + t.begin * plan_.batch.src_stride + b.begin * plan_.b.step;
    block.src_end = src_end_;
    block.dst =
        dst_ + t.begin * plan_.batch.dst_stride + a.begin * plan_.a.step;
    block.num_a = a.size;
    block.num_b = b.size;
    block.a_step = plan_.a.step;
    block.b_step = plan_.b.step;
    block.rows = rows_;
    block.columns = columns_;
    // The offsets of a single loop are the same everywhere but for the base.
    if (plan_.a.num_loops == 1) {
      block.src += a.begin * plan_.a.loops[0].src_stride;
    } else {
      block.rows += a.begin;
    }
    if (plan_.b.num_loops == 1 && plan_.columns.empty()) {
      block.dst += b.begin * plan_.b.loops[0].dst_stride;
    } else {
      block.columns += b.begin;
    }
    block.row_step = plan_.a.num_loops == 1 ? plan_.a.loops[0].src_stride : 0;
    block.column_step = plan_.b.num_loops == 1 && plan_.columns.empty()
                            ? plan_.b.loops[0].dst_stride
                            : 0;
    block.packed = IsPacked(a.size);
    block.together = block.packed ? b.size : Together(a.size, b);
    block.stream = plan_.stream;
    block.begins = a_ == 0;
    block.again = a_ - a.begin;
    block.ends = a_ + plan_.a.block >= plan_.a.extent;
    block.squares = plan_.squares;
    block.pairs = plan_.pairs;
    block.realigns = plan_.realigns;
    block.few_rows = plan_.few_rows;
    block.by_rows = plan_.by_rows;
    block.breadth = plan_.breadth;
    block.batch = {t.size, plan_.batch.src_stride, plan_.batch.dst_stride};
    Advance();
    return true;
  }

 private:
  struct Extent {
    int64_t begin, size;
  };

  static Extent CutAt(int64_t begin, int64_t extent, int64_t block,
                      int64_t least) {
    const int64_t size = std::min(block, extent - begin);
    if (size >= least) return {begin, size};
    least = std::min(least, extent);
    return {std::min(begin, extent - least), std::max(size, least)};
  }

  // So many rows and columns of single loops are looked up at most: to fill in
  // all takes up to half as long as to interleave them, or to bring items
  // together; what is left of those is moved a few rows side by side.
  static int64_t MostOffsets(const BlockPlan& plan) {
    if (plan.lead != 0) return kMaxOffsets;
    switch (plan.kernel) {
      case Kernel::kInterleave:
      case Kernel::kDeinterleave:
        return kMostInterleaved;
      case Kernel::kCompact:
        return kMostSideBySide;
      default:
        return kMaxOffsets;
    }
  }

  static void FillOffsets(const Side& side, int64_t Loop::*stride, int64_t most,
                          int64_t* offsets) {
    if (side.num_loops == 1) {
      const int64_t step = side.loops[0].*stride;
      const int64_t count = std::min(side.block, most);
      for (int64_t i = 0, at = 0; i < count; ++i, at += step) offsets[i] = at;
      return;
    }
    int64_t filled = 1;
    offsets[0] = 0;
    for (int l = 0; l < side.num_loops; ++l) {
      const Loop& loop = side.loops[static_cast<size_t>(l)];
      for (int64_t i = 1; i < loop.extent; ++i)
        for (int64_t j = 0; j < filled; ++j)
          offsets[i * filled + j] = offsets[j] + i * (loop.*stride);
      filled *= loop.extent;
    }
  }

  bool IsPacked(int64_t num_a) const {
    if (!plan_.columns.empty() || plan_.a.step != plan_.item) return false;
    if (plan_.b.num_loops == 0) return true;
    return plan_.b.num_loops == 1 &&
           plan_.b.loops[0].dst_stride == num_a * plan_.item;
  }

  // Of several loops, the columns of the first may follow one another.
  int64_t Together(int64_t num_a, const Extent& b) const {
    const Loop& first = plan_.b.loops[0];
    const bool whole =
        plan_.columns.empty() && plan_.b.num_loops > 1 &&
        plan_.a.step == plan_.item && first.dst_stride == num_a * plan_.item &&
        b.begin % first.extent == 0 && b.size % first.extent == 0;
    return whole ? first.extent : 1;
  }

  // Goes to the next block along `side`, or back to its first: false.
  static bool Step(const Side& side, int64_t& at) {
    if ((at += side.block) < side.extent) return true;
    at = 0;
    return false;
  }

  void Advance() {
    if (along_ && Step(plan_.a, a_)) return;
    if (Step(plan_.b, b_)) return;
    if (!along_ && Step(plan_.a, a_)) return;
    if ((t_ += plan_.batch_block) < plan_.batch.extent) return;
    t_ = 0;
    AdvanceOuter();
  }

  void AdvanceOuter() {
    for (size_t i = plan_.outer.size(); i-- > 0;) {
      const Loop& loop = plan_.outer[i];
      src_ += loop.src_stride;
      dst_ += loop.dst_stride;
      if (++index_[i] < loop.extent) return;
      src_ -= loop.extent * loop.src_stride;
      dst_ -= loop.extent * loop.dst_stride;
      index_[i] = 0;
    }
    done_ = true;
  }

  const BlockPlan& plan_;
  const bool along_;
  const uint8_t* src_;
  const uint8_t* src_end_;
  uint8_t* dst_;
  const int64_t* rows_;
  const int64_t* columns_;
  int64_t t_ = 0, a_ = 0, b_ = 0;
  std::array<int64_t, 64> index_;  // 64: extents of 2 or more in 64 bits
  bool done_ = false;
};

}  // namespace axis
