#include "kernels/copy/block.h"

#include <algorithm>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/copy/block.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/copy/interleave-inl.h"
#include "kernels/copy/runs-inl.h"
#include "kernels/copy/scratch.h"
#include "kernels/copy/transpose-inl.h"
#include "kernels/copy/walk.h"

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

// Permutes the bytes of the runs of `item`, which follow one another.
void Shuffle(const Block& block, const uint8_t* shuffle) {
  const uint8_t* src = block.src;
  uint8_t* dst = block.dst;
  const int64_t item = block.item;
  int64_t left = block.batch.extent * item;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<uint8_t, 16> d;
  const auto places = hn::LoadU(d, shuffle);
  // A vector spills over into the next run, which is written later.
  for (; left >= 16; left -= item, src += item, dst += item)
    hn::StoreU(hn::TableLookupBytes(hn::LoadU(d, src), places), d, dst);
#endif
  for (; left > 0; left -= item, src += item, dst += item)
    for (int64_t i = 0; i < item; ++i) dst[i] = src[shuffle[i]];
}

template <int64_t kItem>
void MoveItems(const BlockPlan& plan, const Block& block) {
  if constexpr (kItem <= 8) {
    using T = hwy::UnsignedFromSize<kItem>;
    if (plan.kernel == Kernel::kInterleave) return Interleave<T>(block);
    if (plan.kernel == Kernel::kDeinterleave) return Deinterleave<T>(block);
  }
  Transpose<kItem>(block);
}

void MoveBlock(const BlockPlan& plan, const Block& block) {
  if (plan.kernel == Kernel::kShuffle)
    return Shuffle(block, plan.shuffle.data());
  if (plan.kernel == Kernel::kRows)
    return plan.stream && !plan.stage ? StreamRows(block) : MoveRows(block);
  switch (plan.item) {
    case 1: return MoveItems<1>(plan, block);
    case 2: return MoveItems<2>(plan, block);
    case 4: return MoveItems<4>(plan, block);
    case 8: return MoveItems<8>(plan, block);
    default: return MoveItems<16>(plan, block);
  }
}

// Reads the source rows of a block into scratch; returns the block of them.
Block Gather(Block block, uint8_t* scratch, int64_t* rows) {
  const int64_t bytes = block.num_b * block.item;
  const int64_t pitch = RoundUpToLine(bytes) + kLineBytes;
  WithCopier(bytes, [&](auto copy) HWY_ATTR {
    for (int64_t a = 0; a < block.num_a; ++a) {
      rows[a] = a * pitch;
      copy(scratch + rows[a], block.src + block.rows[a]);
    }
  });
  block.src = scratch;
  block.src_end = scratch + block.num_a * pitch;
  block.rows = rows;
  return block;
}

// Moves a block by way of scratch, to write its destination in long runs.
void MoveStaged(const BlockPlan& plan, const Block& block,
                uint8_t* scratch, int64_t* columns) {
  const int64_t run = block.num_a * block.item;
  const bool packed = block.packed;
  Block staged = block;
  const int64_t pitch = packed ? run : RoundUpToLine(run) + kLineBytes;
  for (int64_t b = 0; b < block.num_b; ++b) columns[b] = b * pitch;
  staged.dst = scratch;
  staged.columns = columns;
  staged.batch.dst_stride = block.num_b * pitch;
  MoveBlock(plan, staged);
  auto write = [&](int64_t at, const uint8_t* from, int64_t bytes) HWY_ATTR {
    if (plan.stream) {
      StreamRun(block.dst + at, from, bytes);
    } else {
      CopyRun(block.dst + at, from, bytes);
    }
  };
  const int64_t repetition = block.num_b * run;
  if (packed && block.batch.dst_stride == repetition)
    return write(0, scratch, block.batch.extent * repetition);
  for (int64_t t = 0; t < block.batch.extent; ++t) {
    const int64_t at = t * block.batch.dst_stride;
    const uint8_t* from = scratch + t * staged.batch.dst_stride;
    if (packed) {
      write(at, from, repetition);
      continue;
    }
    for (int64_t b = 0; b < block.num_b; ++b)
      write(at + block.columns[b], from + columns[b], run);
  }
}

void PrefetchBlock(const Block& block) {
  const int64_t bytes = block.num_b * block.item;
  const uint8_t* last = nullptr;  // rows may be shorter than a line
  for (int64_t t = 0; t < block.batch.extent; ++t)
    for (int64_t a = 0; a < block.num_a; ++a) {
      const uint8_t* row =
          block.src + t * block.batch.src_stride + block.rows[a];
      for (int64_t i = 0; i < bytes; i += kLineBytes) {
        if (row + i < last + kLineBytes && row + i >= last) continue;
        last = row + i;
        hwy::Prefetch(last);
      }
    }
}

void Move(const BlockPlan& plan, const uint8_t* src, const uint8_t* src_end,
          uint8_t* dst) {
  int64_t rows[kMaxOffsets], columns[kMaxOffsets];
  int64_t gathered_rows[kMaxOffsets], staged_columns[kMaxOffsets];
  BlockWalk walk(plan, src, src_end, dst, rows, columns);
  Block block;
  for (bool more = walk.Next(block); more;) {
    Block next;
    more = walk.Next(next);
    if (plan.prefetch && more) PrefetchBlock(next);
    if (plan.gather) block = Gather(block, GatherScratch(), gathered_rows);
    if (plan.stage) {
      MoveStaged(plan, block, StageScratch(), staged_columns);
    } else {
      MoveBlock(plan, block);
    }
    block = next;
  }
  if (plan.stream) hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace axis {

HWY_EXPORT(Move);

void MoveBlocks(const BlockPlan& plan, const uint8_t* src,
                const uint8_t* src_end, uint8_t* dst) {
  HWY_DYNAMIC_DISPATCH(Move)(plan, src, src_end, dst);
}

}  // namespace axis
#endif  // HWY_ONCE
