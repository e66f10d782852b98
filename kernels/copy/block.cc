#include "kernels/copy/block.h"

#include <algorithm>
#include <cassert>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/copy/block.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/copy/block/interleave-inl.h"
#include "kernels/copy/block/lookup/lookup-inl.h"
#include "kernels/copy/block/lookup/tiles-inl.h"
#include "kernels/copy/block/packed-inl.h"
#include "kernels/copy/block/prefetch.h"
#include "kernels/copy/block/rows/compact-inl.h"
#include "kernels/copy/block/rows/padded-inl.h"
#include "kernels/copy/block/rows/rows-inl.h"
#include "kernels/copy/block/rows/stream-inl.h"
#include "kernels/copy/block/runs-inl.h"
#include "kernels/copy/block/shuffle-inl.h"
#include "kernels/copy/block/stores-inl.h"
#include "kernels/copy/block/together-inl.h"
#include "kernels/copy/block/transpose-inl.h"
#include "kernels/copy/gather/gather-inl.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/memory/scratch.h"
#include "kernels/copy/plan/walk.h"
#include "kernels/copy/tasks.h"

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

template <int64_t kItem>
void MoveItems(const BlockPlan& plan, const Block& block,
               Prefetcher& prefetcher) {
  if constexpr (kItem <= 8) {
    using T = hwy::UnsignedFromSize<kItem>;
    if (plan.kernel == Kernel::kInterleave) return Interleave<T>(block);
    if (plan.kernel == Kernel::kDeinterleave) return Deinterleave<T>(block);
  }
  if constexpr (kItem < 16)
    if (TransposePacked<kItem>(block)) return;
  Transpose<kItem>(block, prefetcher);
}

void MoveBlock(const BlockPlan& plan, const Block& block,
               Prefetcher& prefetcher) {
  if (plan.kernel == Kernel::kShuffle)
    return Shuffle(block, plan.shuffle.data());
  if (plan.kernel == Kernel::kCompact) return Compact(block);
  if (plan.kernel == Kernel::kRows) {
    if (block.stream) return StreamRows(block, prefetcher);
    if (!prefetcher.has_block() && TransposePadded(block)) return;
    return MoveRows(block, prefetcher);
  }
  switch (plan.item) {
    case 1:
      return MoveItems<1>(plan, block, prefetcher);
    case 2:
      return MoveItems<2>(plan, block, prefetcher);
    case 4:
      return MoveItems<4>(plan, block, prefetcher);
    case 8:
      return MoveItems<8>(plan, block, prefetcher);
    default:
      return MoveItems<16>(plan, block, prefetcher);
  }
}

// Staged runs are written, and the next ones prefetched, at this pace.
constexpr int64_t kWriteBytes = 1024;

// Moves a block by way of scratch, to write its destination in long runs.
void MoveStaged(const BlockPlan& plan, const Block& block, uint8_t* scratch,
                int64_t* columns, Prefetcher& prefetcher) {
  const int64_t run = block.num_a * block.item;
  // Rows of whole lines are better kept apart: packed, they would evict each
  // other where they are a power of two long.
  const bool packed = block.packed && run % kLineBytes != 0 && !plan.carry;
  Block staged = block;
  staged.packed = packed;
  staged.together = packed ? block.num_b : 1;
  staged.stream = staged.realigns = false;
  staged.breadth = kMaxOffsets;
  // Before each row is room for a line.
  const int64_t longest = plan.carry ? plan.a.block * block.item : run;
  const int64_t pitch = packed ? run : kLineBytes + RoundUpToLine(longest);
  // Where vectors are interleaved to, nobody looks up.
  if (plan.kernel != Kernel::kInterleave)
    for (int64_t b = 0; b < block.num_b; ++b) columns[b] = b * pitch;
  const int64_t again = plan.carry ? block.again * block.item : 0;
  if (!packed) scratch += kLineBytes;
  staged.dst = scratch - again;
  staged.columns = columns;
  staged.column_step = pitch;
  staged.batch.dst_stride = block.num_b * pitch;
  assert(kLineBytes + block.batch.extent * staged.batch.dst_stride <=
         kStageBytes);
  Prefetcher nothing;
  MoveBlock(plan, staged, nothing);
  auto write = [&](int64_t at, const uint8_t* from, int64_t bytes) HWY_ATTR {
    while (bytes > 0) {
      // Up to the end of a line.
      const int64_t part =
          std::min(bytes, kWriteBytes - PlaceInLine(block.dst + at));
      block.stream ? StreamRun(block.dst + at, from, part)
                   : CopyRun(block.dst + at, from, part);
      if (prefetcher.has_block()) prefetcher.Prefetch(part / kLineBytes);
      at += part, from += part, bytes -= part;
    }
  };
  // Takes over the begin of a line from the block before, and leaves the end of
  // one to the next.
  const bool takes = plan.carry && !block.begins;
  const bool leaves = plan.carry && !block.ends;
  auto write_run = [&](int64_t at, uint8_t* from) HWY_ATTR {
    uint8_t* const to = block.dst + at;
    const int64_t bytes = run - again;
    const int64_t begin = takes ? -PlaceInLine(to) : 0;
    const int64_t end = bytes - (leaves ? PlaceInLine(to + bytes) : 0);
    write(at + begin, from + begin, end - begin);
    if (leaves)
      CopyFixed<kLineBytes>(from - kLineBytes, from + run - kLineBytes);
  };
  const int64_t repetition = block.num_b * run;
  if (packed && block.batch.dst_stride == repetition)
    return write(0, scratch, block.batch.extent * repetition);
  for (int64_t t = 0; t < block.batch.extent; ++t) {
    const int64_t at = t * block.batch.dst_stride;
    uint8_t* const from = scratch + t * staged.batch.dst_stride;
    if (packed) {
      write(at, from, repetition);
      continue;
    }
    for (int64_t b = 0; b < block.num_b; ++b)
      write_run(at + block.columns[b] + again, from + columns[b]);
  }
}

// Brings the rows of a block together in scratch.
void Fetch(Block& block, uint8_t* scratch, int64_t* rows) {
  const int64_t run = block.num_b * block.item;
  const int64_t pitch = RoundUpToLine(run) + kLineBytes;
  assert(block.batch.extent == 1 && block.num_a * pitch <= kFetchBytes);
  const int64_t num_a = block.num_a;
  const int64_t* const from = block.rows;
  const uint8_t* const src = block.src;
  WithCopier(run, [=](auto copy) HWY_ATTR {
    for (int64_t a = 0; a < num_a; ++a)
      copy(scratch + a * pitch, src + from[a]);
  });
  for (int64_t a = 0; a < num_a; ++a) rows[a] = a * pitch;
  block.src = scratch;
  block.src_end = scratch + block.num_a * pitch;
  block.rows = rows;
  block.row_step = pitch;
}

// Fills `offsets` with as many as a block of `plan` has, if its repetitions are
// moved as one: of rows or columns that follow one another.
void FillTogether(const BlockPlan& plan, int64_t* offsets) {
  if (plan.together == Together::kNone || plan.kernel == Kernel::kShuffle)
    return;
  const bool first = plan.together == Together::kFirst;
  const int64_t count = (first ? plan.a : plan.b).extent * plan.batch_block;
  const int64_t step = (first ? plan.b : plan.a).extent * plan.item;
  for (int64_t i = 0; i < std::min(count, kMaxOffsets); ++i)
    offsets[i] = i * step;
}

void MoveTogether(const BlockPlan& plan, Block block, const int64_t* offsets) {
  Prefetcher nothing;
  uint8_t* const scratch = FetchScratch();
  const bool joins = plan.kernel != Kernel::kShuffle;
  if (plan.together == Together::kFirst) {
    BringTogether(block, scratch);
    if (joins) JoinColumns(block, offsets);
    return MoveBlock(plan, block, nothing);
  }
  Block one = InScratch(block, scratch);
  if (joins) JoinRows(one, offsets);
  MoveBlock(plan, one, nothing);
  PutWhole(block, scratch);
}

// Moves blocks that are alike as they are, asking for nothing ahead.
void MoveAlike(const BlockPlan& plan, BlockWalk& walk) {
  Prefetcher nothing;
  Block block;
  for (bool more = walk.Next(block); more; more = walk.NextAlike(block)) {
    MoveBlock(plan, block, nothing);
    GiveWay(block.batch.extent * block.num_a * block.num_b * block.item);
  }
  if (plan.stream) hwy::FlushStream();
}

int64_t ShuffleBytes() { return kShuffleRun; }
int64_t VectorBytes() { return kVectorBytes; }

void Move(const BlockPlan& plan, const uint8_t* src, const uint8_t* src_end,
          uint8_t* dst) {
  int64_t rows[kMaxOffsets], columns[kMaxOffsets];
  int64_t staged_columns[kMaxOffsets], fetched_rows[kMaxOffsets];
  // Narrow vectors would leave lines half written.
  const bool whole_lines = 2 * kVectorBytes >= kLineBytes;
  [[maybe_unused]] const int64_t lane =
      IsTransposable(plan.item) ? LaneBytes(plan.item) : 1;
  const bool realigns =
      kRealigns && plan.realigns && PlaceInLine(dst) % lane == 0;
  const bool direct =
      ((plan.lines && IsAtLine(dst)) || realigns) && whole_lines;
  const bool stage = plan.stage && !direct;
  FillTogether(plan, fetched_rows);
  BlockWalk walk(plan, stage && plan.carry, src, src_end, dst, rows, columns);
  assert(!plan.tiles || walk.AreAlike());
  if (plan.tiles) return MoveTiles(plan, walk);
  const bool as_they_are = !plan.fetch && !stage && plan.lead == 0 &&
                           plan.together == Together::kNone;
  if (as_they_are && walk.AreAlike()) return MoveAlike(plan, walk);
  Block block;
  for (bool more = walk.Next(block); more;) {
    Block next;
    more = walk.Next(next);
    Prefetcher prefetcher;
    if (plan.lead > 0)
      prefetcher = Prefetcher(block, more ? &next : nullptr, plan.lead);
    if (plan.fetch) Fetch(block, FetchScratch(), fetched_rows);
    if (plan.together != Together::kNone) {
      MoveTogether(plan, block, fetched_rows);
    } else if (stage) {
      MoveStaged(plan, block, StageScratch(), staged_columns, prefetcher);
    } else {
      MoveBlock(plan, block, prefetcher);
    }
    GiveWay(block.batch.extent * block.num_a * block.num_b * block.item);
    block = next;
  }
  if (plan.stream) hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace axis {

HWY_EXPORT(GatherWindows);
HWY_EXPORT(Move);
HWY_EXPORT(ShuffleBytes);
HWY_EXPORT(VectorBytes);

Machine ThisMachine() {
  static const Machine kCaches = Machine::Read();
  Machine machine = kCaches;
  machine.shuffle = HWY_DYNAMIC_DISPATCH(ShuffleBytes)();
  machine.vector = HWY_DYNAMIC_DISPATCH(VectorBytes)();
  return machine;
}

void MoveBlocks(const BlockPlan& plan, const uint8_t* src,
                const uint8_t* src_end, uint8_t* dst) {
  HWY_DYNAMIC_DISPATCH(Move)(plan, src, src_end, dst);
}

void MoveWindows(const GatherPlan& plan, int64_t begin, int64_t end,
                 bool stream, const uint8_t* src, const uint8_t* src_end,
                 uint8_t* dst) {
  HWY_DYNAMIC_DISPATCH(GatherWindows)
  (plan, begin, end, stream, src, src_end, dst);
}

}  // namespace axis
#endif  // HWY_ONCE
