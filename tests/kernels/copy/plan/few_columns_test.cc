// Claims of kernels/copy/plan/transpose/transpose_plan.h: in cache, columns
// that compete are written a few at a time, of blocks whose rows stay in the
// first cache, or several lines of each; where the CPU looks up
// (Machine::shuffle), long items and few columns only.
#include <gtest/gtest.h>

#include <cstdint>

#include "kernels/copy/machine.h"
#include "kernels/copy/plan/block_plan.h"

namespace axis {
namespace {

constexpr int64_t kInL3 = 4 << 20, kInMemory = 1 << 30;

// A transposition of `num_a` rows of `row` bytes without gaps, or `apart`
// bytes apart.
BlockPlan PlanOf(int64_t item, int64_t num_a, int64_t row,
                 int64_t total_bytes = kInL3, int64_t shuffle = 64,
                 int64_t apart = 0) {
  const ByteCopy copy{item,
                      {{row / item, item, num_a * item},
                       {num_a, apart > 0 ? apart : row, item}}};
  return PlanBlocks(copy, {}, total_bytes,
                    {.l2 = 512 << 10, .shuffle = shuffle});
}

// How many bytes of the source a block of `plan` reads.
int64_t BlockBytes(const BlockPlan& plan) {
  return plan.item * plan.a.block * plan.b.block;
}

TEST(FewColumnsTest, OfItemsOfAnySizeReadNoMoreThanTheFirstCacheHolds) {
  for (const int64_t item : {1, 2, 4, 8}) {
    SCOPED_TRACE(item);
    const int64_t num_a = 8192 / item;
    for (const int64_t row : {64, 96, 128}) {
      const BlockPlan plan = PlanOf(item, num_a, row);
      EXPECT_EQ(plan.b.block * item, row);
      EXPECT_LE(BlockBytes(plan), 16 << 10);
      EXPECT_GE(BlockBytes(plan), 12 << 10);
      EXPECT_EQ(plan.a.block * item % 64, 0);  // columns end at lines
    }
  }
  // Not if they are more, or leave each other in the cache.
  EXPECT_GT(BlockBytes(PlanOf(4, 2048, 132)), 32 << 10);
  EXPECT_GT(BlockBytes(PlanOf(4, 2048 + 256, 128)), 32 << 10);
  EXPECT_GT(BlockBytes(PlanOf(1, 8192 + 512, 128)), 32 << 10);
}

TEST(FewColumnsTest, OfSmallItemsAreManyColumnsAQuarterOfAWayApart) {
  for (const int64_t item : {1, 2}) {
    SCOPED_TRACE(item);
    const int64_t num_a = 3072 / item;
    for (const int64_t row : {64, 96, 1408}) {
      const BlockPlan plan = PlanOf(item, num_a, row);
      EXPECT_EQ(plan.b.block * item, row < 128 ? row : 128);
      EXPECT_LE(BlockBytes(plan), 16 << 10);
    }
    // Rows of less than a line do not gain, nor do rows that compete, as far
    // apart as they are.
    EXPECT_GT(BlockBytes(PlanOf(item, num_a, 62)), 16 << 10);
    EXPECT_GT(BlockBytes(PlanOf(item, num_a, 512)), 16 << 10);
    EXPECT_GT(BlockBytes(PlanOf(item, num_a, 200, kInL3, 64, 1024)), 16 << 10);
    EXPECT_GT(BlockBytes(PlanOf(item, num_a + 256 / item, 1408)), 16 << 10);
  }
  // Twice as far apart few do only, and larger items.
  EXPECT_GT(BlockBytes(PlanOf(2, 1024, 1408)), 32 << 10);
  EXPECT_GT(BlockBytes(PlanOf(4, 768, 96)), 32 << 10);
}

TEST(FewColumnsTest, ThatWaitAreWrittenALineSideBySide) {
  const int64_t in_l2 = 100 << 10;
  EXPECT_EQ(PlanOf(4, 9 * 128, 4000).breadth, 16);
  EXPECT_EQ(PlanOf(8, 3 * 256, 800).breadth, 8);
  EXPECT_EQ(PlanOf(16, 3 * 128, 1600).breadth, 4);
  // In the second cache only long items do, and if they compete.
  EXPECT_EQ(PlanOf(4, 9 * 128, 4000, in_l2).breadth, kMaxOffsets);
  EXPECT_EQ(PlanOf(8, 3 * 256, 800, in_l2).breadth, 8);
  EXPECT_EQ(PlanOf(16, 3 * 128, 1600, in_l2).breadth, 4);
  EXPECT_EQ(PlanOf(8, 3 * 64, 800).breadth, kMaxOffsets);
  EXPECT_EQ(PlanOf(16, 3 * 32, 1600).breadth, kMaxOffsets);
  // Past the caches these do in long rows, if their columns do not compete.
  EXPECT_EQ(PlanOf(16, 3 * 32, 1600, kInMemory).breadth, 4);
  EXPECT_EQ(PlanOf(16, 3 * 32, 15, kInMemory).breadth, kMaxOffsets);
  EXPECT_EQ(PlanOf(16, 2 * 128, 1600, kInMemory).breadth, kMaxOffsets);
  // Nor small ones, or where the rest of rows that compete is gone by then.
  EXPECT_EQ(PlanOf(2, 9 * 256, 4000).breadth, kMaxOffsets);
  EXPECT_EQ(PlanOf(8, 3 * 256, 4096).breadth, kMaxOffsets);
}

TEST(FewColumnsTest, ThatWaitAreLongItemsInCacheWithLookups) {
  EXPECT_EQ(PlanOf(4, 9 * 128, 4000, kInL3, 256).breadth, kMaxOffsets);
  EXPECT_EQ(PlanOf(8, 3 * 256, 800, kInL3, 256).breadth, 8);
  EXPECT_EQ(PlanOf(8, 3 * 128, 800, kInL3, 256).breadth, kMaxOffsets);
  EXPECT_EQ(PlanOf(16, 3 * 128, 1600, kInL3, 256).breadth, 4);
  EXPECT_EQ(PlanOf(16, 3 * 32, 1600, kInMemory, 256).breadth, kMaxOffsets);
}

TEST(FewColumnsTest, AreNotCutPastTheCachesNorManyOfThemWithLookups) {
  EXPECT_GT(BlockBytes(PlanOf(4, 2048, 128, kInMemory)), 16 << 10);
  const BlockPlan wide = PlanOf(2, 1536, 1408, kInL3, 256);
  EXPECT_GT(wide.b.block * 2, 128);
}

TEST(FewColumnsTest, ThatCompeteAreKeptFewWhereStoresAreWide) {
  const auto plan = [](int64_t item, int64_t num_b, int64_t column,
                       int64_t shuffle) {
    const ByteCopy copy{item,
                        {{num_b, item, column}, {64, num_b * item, item}}};
    return PlanBlocks(copy, {}, 100 << 10, {.shuffle = shuffle}).b.block;
  };
  EXPECT_EQ(plan(4, 33, 4096, 256), 16);
  EXPECT_EQ(plan(4, 32, 4096, 256), 32);  // little would be left of a row
  EXPECT_EQ(plan(4, 33, 4096, 64), 33);
  EXPECT_EQ(plan(4, 33, 1984, 256), 33);
  // Nor if their rows come of two loops.
  const ByteCopy copy{4, {{32, 4, 4096}, {8, 10000, 64}, {16, 128, 4}}};
  const BlockPlan two =
      PlanBlocks(copy, {}, 100 << 10, {.l2 = 512 << 10, .shuffle = 256});
  EXPECT_EQ(two.a.num_loops, 2);
  EXPECT_EQ(two.b.block, 32);
}

}  // namespace
}  // namespace axis
