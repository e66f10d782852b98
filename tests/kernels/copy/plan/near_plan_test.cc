// Claims of kernels/copy/plan/transpose/transpose_plan.h about what goes past a
// last cache that is near, where the CPU looks up (Machine::shuffle): pieces of
// rows are asked for ahead instead of reading lines whole, unless lines
// compete; blocks are cut evenly; and whatever the plan, its blocks fit
// scratch. And of plan/side.h: blocks do not begin anew after a few lines.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "kernels/copy/block.h"
#include "kernels/copy/digits/digits.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/memory/scratch.h"
#include "kernels/copy/plan/block_plan.h"
#include "tests/kernels/random_copy.h"

namespace axis {
namespace {

constexpr int64_t kInMemory = 1 << 30;
constexpr Machine kNear{.l2 = 1 << 20, .shuffle = 256, .vector = 64};
constexpr Machine kFar{.l2 = 2 << 20, .shuffle = 256, .vector = 64};

// Repeated matrices of `num_a` rows of `num_b` items, without gaps, or `pitch`
// bytes apart.
BlockPlan PlanOf(int64_t item, int64_t num_a, int64_t num_b,
                 const Machine& machine = kNear, int64_t pitch = 0) {
  if (pitch == 0) pitch = num_b * item;
  const ByteCopy copy{item,
                      {{3, num_a * pitch, num_a * num_b * item},
                       {num_b, item, num_a * item},
                       {num_a, pitch, item}}};
  return PlanBlocks(copy, {}, kInMemory, machine);
}

TEST(NearPlanTest, LinesAreReadWholeOnlyWhereTheyCompete) {
  const auto are_squares = [](int64_t item, int64_t row,
                              const Machine& machine = kNear) {
    return PlanOf(item, 256, row / item, machine).squares != Square::kNone;
  };
  for (const int64_t item : {1, 2, 4, 8}) {
    SCOPED_TRACE(item);
    EXPECT_TRUE(are_squares(item, 4096));
    EXPECT_EQ(are_squares(item, 6144), item <= 2);
    EXPECT_FALSE(are_squares(item, 3072));
    EXPECT_FALSE(are_squares(item, 5000));
  }
  EXPECT_TRUE(are_squares(16, 5120));
  // So are a few items that are not small.
  EXPECT_TRUE(are_squares(4, 64 * 4));
  EXPECT_FALSE(are_squares(4, 65 * 4));
  EXPECT_FALSE(are_squares(2, 64 * 2));
  // From far away they gain everywhere, and of columns that are no lines.
  for (const int64_t item : {2, 4, 8})
    EXPECT_TRUE(are_squares(item, 5120, kFar));
  EXPECT_NE(PlanOf(4, 250, 512, kFar).squares, Square::kNone);
}

TEST(NearPlanTest, AsksForWhatDoesNotCompete) {
  for (const int64_t item : {2, 4, 8, 16}) {
    SCOPED_TRACE(item);
    EXPECT_GT(PlanOf(item, 256, 5120 / item).lead, 0);
    EXPECT_EQ(PlanOf(item, 256, 8192 / item).lead, 0);
    EXPECT_EQ(PlanOf(item, 256, 5120 / item, kFar).lead, 0);
  }
  EXPECT_EQ(PlanOf(2, 256, 3072).lead, 0);
}

TEST(NearPlanTest, WritesALineOfEachOfFewColumnsWhereTheyWait) {
  for (const int64_t item : {2, 4, 8}) {
    SCOPED_TRACE(item);
    const int64_t row = 5120 / item;
    EXPECT_EQ(PlanOf(item, 512 / item, row).breadth, 64 / item);
    EXPECT_EQ(PlanOf(item, 576 / item, row).breadth, kMaxOffsets);
    EXPECT_EQ(PlanOf(item, 512 / item, row, kFar).breadth, kMaxOffsets);
    // Not of squares.
    EXPECT_EQ(PlanOf(item, 512 / item, 4096 / item).breadth, kMaxOffsets);
  }
}

TEST(NearPlanTest, BlocksOfLinesAreLongEitherWayForTheirItems) {
  const auto expect = [](int64_t item, int64_t a_bytes, int64_t b_bytes) {
    SCOPED_TRACE(item);
    const BlockPlan plan = PlanOf(item, 65536 / item, 10240 / item + 64 / item);
    EXPECT_EQ(plan.a.block * item, a_bytes);
    EXPECT_GE(plan.b.block * item, b_bytes);
    EXPECT_LT(plan.b.block * item, 2 * b_bytes);
  };
  expect(1, 256, 512);
  expect(2, 256, 512);
  expect(4, 512, 1024);
  expect(8, 1024, 1024);
  // Short rows make up for it by their number.
  EXPECT_EQ(PlanOf(2, 4096, 32).a.block, 512);
  EXPECT_EQ(PlanOf(2, 4096, 48).a.block, 128);
}

TEST(NearPlanTest, BlocksAreCutEvenlyUnlessTheyArePutTogetherInRegisters) {
  // 80 columns at once, not 64 and then 16.
  EXPECT_EQ(PlanOf(4, 77, 80).b.block, 80);
  EXPECT_EQ(PlanOf(4, 77, 80, kFar).b.block, 64);
  const BlockPlan realigned = PlanOf(8, 1001, 200);
  EXPECT_TRUE(realigned.realigns);
  EXPECT_EQ(realigned.b.block, 128);
}

TEST(NearPlanTest, PairsThatCompeteAreReadToScratchIfColumnsAreNoLines) {
  EXPECT_TRUE(PlanOf(2, 100, 2048).fetch);
  EXPECT_TRUE(PlanOf(2, 17, 8192).fetch);
  EXPECT_FALSE(PlanOf(2, 15, 2048).fetch);
  EXPECT_FALSE(PlanOf(2, 128, 2048).fetch);
  EXPECT_FALSE(PlanOf(2, 100, 2049).fetch);
  EXPECT_FALSE(PlanOf(2, 100, 2048, kFar).fetch);
}

// Whatever the shape and the machine: scratch is not looked after again.
TEST(NearPlanTest, BlocksFitScratch) {
  testing::Random random(20261130);
  int64_t staged = 0, fetched = 0;
  for (int i = 0; i < 20000; ++i) {
    const int64_t item = int64_t{1} << random.In(0, 4);
    const int64_t num_a = random.In(2, random.OneIn(2) ? 6000 : 300);
    int64_t num_b = random.In(2, random.OneIn(2) ? 6000 : 300);
    const int64_t apart = RoundUpToLine(num_b * item) * 64;
    if (random.OneIn(3)) num_b = apart / item;
    Machine machine = random.OneIn(2) ? kNear : kFar;
    if (random.OneIn(3)) machine = {.l2 = 512 << 10, .shuffle = 64};
    const BlockPlan plan =
        PlanOf(item, num_a, num_b, machine, random.OneIn(2) ? apart : 0);
    const int64_t run = plan.a.block * item, row = plan.b.block * item;
    // Few items follow one another as they do in the result.
    const int64_t column = plan.kernel == Kernel::kInterleave
                               ? run
                               : RoundUpToLine(run) + kLineBytes;
    if (plan.stage && !plan.fetch) {
      EXPECT_LE(kLineBytes + plan.batch_block * plan.b.block * column,
                kStageBytes)
          << item << ", " << num_a << " x " << num_b;
      ++staged;
    }
    if (plan.fetch) {
      EXPECT_LE(plan.a.block * (RoundUpToLine(row) + kLineBytes), kFetchBytes)
          << item << ", " << num_a << " x " << num_b;
      ++fetched;
    }
  }
  EXPECT_GE(staged, 2000);
  EXPECT_GE(fetched, 200);
}

// Pixels of `side` x `side` that a shuffle takes from four planes of items.
BlockPlan PixelShuffle(int64_t item, int64_t side, int64_t total_bytes,
                       const Machine& machine = kNear) {
  const int64_t row = side * item, plane = side * row;
  const ByteCopy copy{item,
                      {{64, 4 * plane, 4 * plane},
                       {side, row, 4 * row},
                       {2, 2 * plane, 2 * row},
                       {side, item, 2 * item},
                       {2, plane, item}}};
  return PlanBlocks(copy, {}, total_bytes, machine);
}

TEST(NearPlanTest, RowsAreInterleavedOneAfterTheOtherIfFewFollowInTheResult) {
  for (const int64_t total :
       {int64_t{256} << 10, int64_t{4} << 20, kInMemory}) {
    EXPECT_EQ(PixelShuffle(1, 100, total).kernel, Kernel::kInterleave);
    EXPECT_EQ(PixelShuffle(1, 100, total).batch.extent, 100);
  }
  // As they follow in the result, if that is enough.
  EXPECT_EQ(PixelShuffle(4, 256, 4 << 20).batch.extent, 2);
}

TEST(NearPlanTest, WhatIsInterleavedPastTheCachesIsNotLookedUpByDigits) {
  EXPECT_TRUE(AreTooSmall(PixelShuffle(4, 16, 4 << 20), kNear));
  EXPECT_FALSE(AreTooSmall(PixelShuffle(4, 16, kInMemory), kNear));
}

}  // namespace
}  // namespace axis
