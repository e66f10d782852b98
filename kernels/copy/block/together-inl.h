// Blocks of short rows and short columns, whose repetitions are moved as one by
// way of scratch, per SIMD target.
#include <algorithm>
#include <cassert>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/rows/rows-inl.h"
#include "kernels/copy/memory/scratch.h"

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
// in scratch.
HWY_INLINE void BringTogether(Block& block, uint8_t* scratch) {
  const int64_t bytes = block.num_a * block.num_b * block.item;
  assert(block.batch.extent * bytes <= kFetchBytes);
  MoveWhole(block, block.src, block.batch.src_stride, block.src_end, scratch,
            bytes);
  block.src = scratch;
  block.src_end = scratch + block.batch.extent * bytes;
  block.batch.src_stride = bytes;
}

// Makes one block of repetitions that are together, whose columns go on from
// one to the next: its rows begin at `rows`.
HWY_INLINE void JoinColumns(Block& block, const int64_t* rows) {
  const int64_t row = block.num_b * block.item;
  block.num_a *= block.batch.extent;
  block.rows = rows;
  block.row_step = row;
  block.packed = block.column_step == block.num_a * block.item;
  block.together = block.packed ? block.num_b : 1;
  block.batch = {1, 0, 0};
}

// Makes one block of repetitions that are together in the destination, whose
// rows go on from one to the next: its columns begin at `columns`.
HWY_INLINE void JoinRows(Block& block, const int64_t* columns) {
  block.num_b *= block.batch.extent;
  block.columns = columns;
  block.column_step = block.num_a * block.item;
  block.packed = true;
  block.together = block.num_b;
  block.batch = {1, 0, 0};
}

// `block`, its repetitions together in scratch.
HWY_INLINE Block InScratch(Block block, uint8_t* scratch) {
  block.dst = scratch;
  block.batch.dst_stride = block.num_a * block.num_b * block.item;
  assert(block.batch.extent * block.batch.dst_stride <= kFetchBytes);
  return block;
}

// Puts the repetitions of `block`, which have no gaps in the destination, there
// from scratch.
HWY_INLINE void PutWhole(const Block& block, const uint8_t* scratch) {
  const int64_t bytes = block.num_a * block.num_b * block.item;
  MoveWhole(block, scratch, bytes, scratch + block.batch.extent * bytes,
            block.dst, block.batch.dst_stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
