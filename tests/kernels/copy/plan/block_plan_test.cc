// Claims of kernels/copy/plan/block_plan.h: how copies that no cache holds are
// cut into blocks, and in which order those are moved.
#include "kernels/copy/plan/block_plan.h"

#include <gtest/gtest.h>

#include "kernels/copy/block.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/memory/scratch.h"

namespace axis {
namespace {

// `num_b` columns of `num_a` items each, of rows with a gap between them.
ByteCopy Matrix(int64_t item, int64_t num_a, int64_t num_b, int64_t gap) {
  return {item,
          {{num_b, item, num_a * item}, {num_a, num_b * item + gap, item}}};
}

// The same, far too large for a cache.
BlockPlan PlanStreamed(int64_t item, int64_t num_a, int64_t num_b,
                       const Machine& machine, int64_t gap = kLineBytes) {
  return PlanBlocks(Matrix(item, num_a, num_b, gap), {}, int64_t{1} << 30,
                    machine);
}

TEST(BlockPlanTest, RowsAreReadInEqualPartsWithoutLookups) {
  const Machine machine = {.shuffle = 64};
  // Of 256 bytes up to twice as much, in whole lines.
  EXPECT_EQ(PlanStreamed(4, 1000, 96, machine).b.block, 96);
  EXPECT_EQ(PlanStreamed(4, 1000, 160, machine).b.block, 80);
  EXPECT_EQ(PlanStreamed(4, 1000, 1024, machine).b.block, 64);
  EXPECT_EQ(PlanStreamed(4, 1000, 1000, machine).b.block, 80);
  EXPECT_EQ(PlanStreamed(1, 1501, 700, machine).b.block, 384);
}

TEST(BlockPlanTest, RowsThatFollowOneAnotherAreReadWholeWithoutLookups) {
  const Machine machine = {.shuffle = 64};
  const auto plan = [&](int64_t item, int64_t num_a, int64_t num_b) {
    return PlanStreamed(item, num_a, num_b, machine, 0);
  };
  EXPECT_EQ(plan(4, 5001, 200).b.block, 200);
  EXPECT_EQ(plan(4, 5001, 1024).b.block, 1024);
  EXPECT_EQ(plan(4, 5001, 1025).b.block, 80);
  EXPECT_EQ(plan(8, 5001, 512).b.block, 512);
  EXPECT_EQ(plan(1, 5001, 1024).b.block, 1024);
  EXPECT_EQ(plan(1, 5001, 1025).b.block, 320);  // more than a block holds
  EXPECT_EQ(plan(8, 5001, 513).b.block, 40);
  // In blocks of 64 KiB, or up to twice as much where that makes them equal;
  // in runs of 256 bytes to 1 KiB.
  EXPECT_EQ(plan(4, 5001, 200).a.block, 96);
  EXPECT_EQ(plan(4, 100, 200).a.block, 100);
  EXPECT_EQ(plan(4, 5001, 1024).a.block, 80);
  EXPECT_EQ(plan(4, 5001, 40).a.block, 272);
  // Wherever else the columns go on: what follows is not read with them.
  const ByteCopy images{4,
                        {{8, 6720000, 6720000},
                         {6, 1120000, 400},
                         {14, 80000, 480000},
                         {100, 800, 4},
                         {200, 4, 2400}}};
  EXPECT_EQ(PlanBlocks(images, {}, int64_t{1} << 30, machine).a.extent, 100);
}

TEST(BlockPlanTest, SidesGrowToAboutAKibWithoutLookups) {
  // Items of `item` bytes, 3 x a x b of them, reversed; rows have gaps.
  const auto plan = [](int64_t item, int64_t a, int64_t b) {
    const int64_t row = 3 * b * item + kLineBytes;
    const ByteCopy copy{item,
                        {{b, item, 9 * a * item},
                         {3, b * item, 3 * a * item},
                         {3, a * row, a * item},
                         {a, row, item}}};
    return PlanBlocks(copy, {}, int64_t{1} << 30, {.shuffle = 64});
  };
  // 1200 bytes are nearer to 1 KiB than 400, and 336 to 256 than 112.
  EXPECT_EQ(plan(4, 100, 28).a.extent, 300);
  EXPECT_EQ(plan(4, 100, 28).b.extent, 84);
  // 1800 bytes are not nearer than 600, nor 576 than 192.
  EXPECT_EQ(plan(4, 150, 48).a.extent, 150);
  EXPECT_EQ(plan(4, 150, 48).b.extent, 48);
  // 1200 rows would be more than a block has.
  EXPECT_EQ(plan(1, 400, 200).a.extent, 400);
}

TEST(BlockPlanTest, ShortColumnsThatFollowOneAnotherAreMovedInOneGo) {
  // 4-byte items, x times 40 matrices of `b` columns of 5, by 1, 0, 3, 2: how
  // far apart in the destination those are that are moved in one go.
  const auto step = [](int64_t x, int64_t b, int64_t total_bytes,
                       int64_t shuffle = 64) {
    const ByteCopy copy{4,
                        {{40, b * 20, x * b * 20},
                         {x, 40 * b * 20, b * 20},
                         {b, 4, 20},
                         {5, b * 4, 4}}};
    return PlanBlocks(copy, {}, total_bytes, {.shuffle = shuffle})
        .batch.dst_stride;
  };
  constexpr int64_t kInCache = 100000, kPastCaches = int64_t{1} << 30;
  EXPECT_EQ(step(4, 30, kInCache), 600);
  EXPECT_EQ(step(3, 30, kInCache), 1800);  // too little
  EXPECT_EQ(step(30, 12, kInCache), 240);
  EXPECT_EQ(step(30, 13, kPastCaches), 260);
  EXPECT_EQ(step(30, 12, kPastCaches), 7200);  // reads too little at a time
  EXPECT_EQ(step(4, 30, kInCache, 256), 600);
}

TEST(BlockPlanTest, RowsOfTilesAreReadWholeUpTo12KiB) {
  const Machine machine = {.shuffle = 64};
  EXPECT_EQ(PlanStreamed(128, 1000, 9, machine).b.block, 9);
  EXPECT_EQ(PlanStreamed(128, 1000, 96, machine).b.block, 96);
  EXPECT_EQ(PlanStreamed(128, 1000, 97, machine).b.block, 8);
  EXPECT_EQ(PlanStreamed(256, 1000, 49, machine).b.block, 8);
  EXPECT_EQ(PlanStreamed(24, 1000, 41, machine).b.block, 41);
}

TEST(BlockPlanTest, WhatIsPutTogetherFitsScratch) {
  int64_t staged = 0;
  for (const int64_t shuffle : {64, 256}) {
    for (int64_t item = 1; item <= 600; ++item) {
      const int64_t gap = item % 2 * kLineBytes;
      for (const int64_t num_a : {700, 4000}) {
        for (const int64_t num_b : {100, 1000, 4000}) {
          const BlockPlan plan =
              PlanStreamed(item, num_a, num_b, {.shuffle = shuffle}, gap);
          if (!plan.stage) continue;
          const int64_t column =
              RoundUpToLine(plan.a.block * item) + kLineBytes;
          EXPECT_LE(kLineBytes + plan.b.block * column, kStageBytes)
              << item << ' ' << num_b;
          ++staged;
        }
      }
    }
  }
  EXPECT_GE(staged, 2000);
}

TEST(BlockPlanTest, LongItemsOfTilesAreRealignedWithLookups) {
  const auto plan = [](int64_t item, int64_t num_a, int64_t shuffle = 256) {
    return PlanStreamed(item, num_a, 50, {.shuffle = shuffle});
  };
  EXPECT_FALSE(plan(111, 1000).realigns);
  EXPECT_TRUE(plan(112, 1000).realigns);
  EXPECT_FALSE(plan(112, 1000, 64).realigns);
  // By way of scratch where somebody does not look up after all.
  EXPECT_TRUE(plan(112, 1000).stage);
  // Columns are written whole up to 8 KiB, or at most 2 KiB at a time.
  EXPECT_EQ(plan(120, 68).a.block, 68);
  EXPECT_EQ(plan(120, 69).a.block, 14);
  // Whole lines need not be put together, and are read in order.
  EXPECT_FALSE(plan(128, 64).realigns);
}

TEST(BlockPlanTest, ShortRowsAreRealignedWithLookups) {
  // Of each row of `item` + 64 bytes, the first `item`.
  const auto realigns = [](int64_t item) {
    const ByteCopy copy{item, {{1000, item + 64, item}}};
    return PlanBlocks(copy, {}, int64_t{1} << 30, {.shuffle = 256}).realigns;
  };
  EXPECT_FALSE(realigns(19));
  EXPECT_TRUE(realigns(20));
  EXPECT_TRUE(realigns(511));
  EXPECT_FALSE(realigns(512));
}

TEST(BlockPlanTest, WhatIsReadToScratchFitsIt) {
  int64_t fetched = 0;
  for (const int64_t item : {1, 2}) {
    for (int64_t num_a = 100; num_a <= 3000; num_a += 100) {
      const int64_t num_b = 4032 / item;
      const BlockPlan plan = PlanStreamed(item, num_a, num_b, {.shuffle = 64});
      if (!plan.fetch) continue;
      const int64_t row = RoundUpToLine(plan.b.block * item) + kLineBytes;
      EXPECT_LE(plan.a.block * row, kFetchBytes) << item << ' ' << num_a;
      ++fetched;
    }
  }
  EXPECT_GE(fetched, 50);
}

TEST(BlockPlanTest, ShortRowsAreReadFromEndToEndBeyondTheSecondCache) {
  // f32 (N, 3, 14, 16, 14, 16) by 0, 2, 4, 3, 5, 1: patches of an image.
  const auto step = [](int64_t total_bytes, int64_t shuffle, int64_t patches) {
    const ByteCopy copy{4,
                        {{16, 602112, 602112},
                         {14, 14336, 43008},
                         {patches, 64, 3072},
                         {16, 896, 192},
                         {16, 4, 12},
                         {3, 200704, 4}}};
    return PlanBlocks(copy, {}, total_bytes, {.shuffle = shuffle})
        .batch.src_stride;
  };
  const int64_t kib = 1 << 10, mib = 1 << 20;
  const int64_t in_rows = 64, in_patches = 896;
  EXPECT_EQ(step(1 * mib, 64, 14), in_patches);
  EXPECT_EQ(step(1 * mib + 1, 64, 14), in_rows);
  EXPECT_EQ(step(32 * mib, 64, 14), in_rows);
  EXPECT_EQ(step(8 * mib, 256, 14), in_patches);
  EXPECT_EQ(step(8 * mib + 1, 256, 14), in_rows);
  // Not where blocks of 192 bytes make less than 2 KiB, past an eighth 1 KiB.
  EXPECT_EQ(step(4 * mib - kib, 64, 10), in_patches);
  EXPECT_EQ(step(4 * mib - kib, 64, 11), in_rows);
  EXPECT_EQ(step(4 * mib, 64, 5), in_patches);
  EXPECT_EQ(step(4 * mib, 64, 6), in_rows);
}

TEST(BlockPlanTest, RunsThatMakeNoLinesAreStreamedInOrderAndAskedForAhead) {
  // f32 (64, 240, run / 4) by 1, 0, 2.
  const auto plan = [](int64_t run) {
    const ByteCopy copy{run, {{240, run, 64 * run}, {64, 240 * run, run}}};
    return PlanBlocks(copy, {}, int64_t{1} << 30, {});
  };
  EXPECT_EQ(plan(788).a.step, 788);
  EXPECT_EQ(plan(788).lead, 4);  // 3 KiB
  EXPECT_EQ(plan(4092).lead, 1);
  EXPECT_EQ(plan(4100).lead, 0);  // foreseen
  EXPECT_EQ(plan(768).a.step, 64 * 768);
  EXPECT_EQ(plan(768).lead, 0);  // read from end to end
}

TEST(BlockPlanTest, RunsThatNoDivisorGathersAreMovedManyAtATime) {
  // f32 (2, 59, 784) by 1, 0, 2.
  const ByteCopy copy{3136, {{59, 3136, 6272}, {2, 185024, 3136}}};
  const BlockPlan plan = PlanBlocks(copy, {}, 59 * 6272, {});
  EXPECT_EQ(plan.a.block, 2);
  EXPECT_EQ(plan.batch_block, 41);  // 256 KiB
}

TEST(BlockPlanTest, ColumnsGrowToWholeLinesWithoutLookups) {
  // f32 (24, 20, 28, 22, 32), reversed: 24 items are a line and a half.
  const ByteCopy copy{4,
                      {{32, 4, 1182720},
                       {22, 128, 53760},
                       {28, 2816, 1920},
                       {20, 78848, 96},
                       {24, 1576960, 4}}};
  const BlockPlan plan =
      PlanBlocks(copy, {}, int64_t{1} << 30, {.shuffle = 64});
  EXPECT_EQ(plan.a.extent, 240);
  EXPECT_TRUE(plan.lines);
}

TEST(BlockPlanTest, ShortRunsThatLieApartAreShuffledTogether) {
  // u8 (x, y, num_a, num_b) by 1, 0, 3, 2.
  const auto plan = [](int64_t x, int64_t y, int64_t num_a, int64_t num_b,
                       int64_t shuffle = 64) {
    const int64_t run = num_a * num_b;
    const ByteCopy copy{1,
                        {{y, run, x * run},
                         {x, y * run, run},
                         {num_b, 1, num_a},
                         {num_a, num_b, 1}}};
    return PlanBlocks(copy, {}, 1 << 20, {.shuffle = shuffle});
  };
  // From where they have no gaps, on the longer side.
  EXPECT_EQ(plan(100, 50, 7, 3).kernel, Kernel::kShuffle);
  EXPECT_EQ(plan(100, 50, 7, 3).together, Together::kFirst);
  EXPECT_EQ(plan(50, 100, 7, 3).together, Together::kLast);
  EXPECT_EQ(plan(50, 100, 7, 3).batch.extent, 100);
  EXPECT_EQ(plan(50, 3000, 7, 3).batch_block, 750);  // of 780
  // If they come to more than a KiB, and columns are shorter than a vector.
  EXPECT_EQ(plan(49, 48, 7, 3).kernel, Kernel::kShuffle);
  EXPECT_NE(plan(48, 48, 7, 3).kernel, Kernel::kShuffle);
  EXPECT_NE(plan(100, 50, 16, 3).kernel, Kernel::kShuffle);
  // Registers transpose powers of two.
  EXPECT_NE(plan(100, 50, 8, 4).kernel, Kernel::kShuffle);
  // Where the CPU looks up, they are left where they are.
  EXPECT_EQ(plan(100, 50, 7, 3, 256).together, Together::kNone);
}

}  // namespace
}  // namespace axis
