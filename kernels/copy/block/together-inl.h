// Blocks of short rows and short columns, whose repetitions are moved as one by
// way of scratch, per SIMD target.
#include <algorithm>
#include <cassert>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/rows/rows-inl.h"
#include "kernels/copy/scratch.h"

#if defined(AXIS_BLOCK_TOGETHER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_TOGETHER_INL_H_
#undef AXIS_BLOCK_TOGETHER_INL_H_
#else
#define AXIS_BLOCK_TOGETHER_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

// Moves the repetitions of a block, each as a whole.
HWY_INLINE void MoveWhole(const Block& block, const uint8_t* src,
                          int64_t src_step, const uint8_t* src_end,
                          uint8_t* dst, int64_t dst_step) {
  static constexpr int64_t kFirst = 0;
  Block whole = {};
  whole.item = block.num_a * block.num_b * block.item;
  whole.src = src, whole.src_end = src_end, whole.dst = dst;
  whole.num_a = block.batch.extent, whole.num_b = 1;
  whole.a_step = dst_step, whole.row_step = src_step;
  whole.rows = whole.columns = &kFirst;
  whole.packed = true;
  whole.batch.extent = 1;
  MoveRows(whole);
}

// Brings the repetitions of `block`, which have no gaps in the source, together
// in scratch. Its columns go on from one to the next: they are one then, whose
// rows begin at `rows`.
HWY_INLINE void BringTogether(Block& block, uint8_t* scratch,
                              const int64_t* rows) {
  const int64_t row = block.num_b * block.item;
  const int64_t bytes = block.batch.extent * block.num_a * row;
  assert(bytes <= kFetchBytes);
  MoveWhole(block, block.src, block.batch.src_stride, block.src_end, scratch,
            block.num_a * row);
  block.num_a *= block.batch.extent;
  block.src = scratch;
  block.src_end = scratch + bytes;
  block.rows = rows;
  block.row_step = row;
  block.packed = block.column_step == block.num_a * block.item;
  block.together = block.packed ? block.num_b : 1;
  block.batch = {1, 0, 0};
}

// Moves the repetitions of `block`, which have no gaps in the destination, by
// `move(block)` as one to scratch, where its columns begin at `columns`, and
// from there apart. Its rows go on from one to the next.
template <class Move>
HWY_INLINE void PutApart(const Block& block, uint8_t* scratch,
                         const int64_t* columns, Move move) {
  const int64_t column = block.num_a * block.item;
  assert(block.batch.extent * block.num_b * column <= kFetchBytes);
  Block one = block;
  one.num_b *= block.batch.extent;
  one.dst = scratch;
  one.columns = columns;
  one.column_step = column;
  one.packed = true;
  one.together = one.num_b;
  one.batch = {1, 0, 0};
  move(one);
  MoveWhole(block, scratch, block.num_b * column, scratch + one.num_b * column,
            block.dst, block.batch.dst_stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
