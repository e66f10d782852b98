// Claims of kernels/copy/plan/transpose/transpose_plan.h: what stays in cache
// is cut into blocks with long runs and rows.
#include <gtest/gtest.h>

#include "kernels/copy/block.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/plan/block_plan.h"

namespace axis {
namespace {

// Of `num_a` rows, `gap` bytes apart, of `num_b` items each, which a cache
// holds.
BlockPlan PlanOf(int64_t item, int64_t num_a, int64_t num_b,
                 const Machine& machine, int64_t gap = 0) {
  const ByteCopy matrix{
      item, {{num_b, item, num_a * item}, {num_a, num_b * item + gap, item}}};
  return PlanBlocks(matrix, {}, num_a * num_b * item, machine);
}

TEST(CachedBlocksTest, AreAsLongAsTheyCanBeWithoutLookups) {
  const auto plan = [](int64_t item, int64_t num_a, int64_t num_b,
                       const Machine& machine = {}) {
    return PlanOf(item, num_a, num_b, machine);
  };
  // Of few columns, runs of up to 4 KiB, as many as make 512 times 512 bytes.
  EXPECT_EQ(plan(2, 5000, 64).a.block, 1024);
  EXPECT_EQ(plan(2, 5000, 290).a.block, 256);
  EXPECT_EQ(plan(2, 64, 5000).b.block, 256);
  // Where a column gets two stores at a time, 4 KiB of each and of each row.
  EXPECT_EQ(plan(4, 5000, 140).a.block, 1024);
  EXPECT_EQ(plan(8, 1000, 600).a.block, 512);
  EXPECT_EQ(plan(8, 40, 5000).b.block, 512);
  EXPECT_EQ(plan(4, 31, 5000).b.block, 1024);
  // But 512 bytes of columns that are written a few side by side.
  EXPECT_EQ(plan(4, 1024, 1000).a.block, 128);
  // Not where that takes more than two stores of each.
  EXPECT_EQ(plan(4, 32, 5000, {.vector = 16}).b.block, 128);
}

TEST(CachedBlocksTest,
     WithLookupsOnlyColumnsThatAreFewOrWrittenByLinesAreLonger) {
  const auto plan = [](int64_t item, int64_t num_a, int64_t num_b) {
    return PlanOf(item, num_a, num_b, {.shuffle = 128, .vector = 64});
  };
  EXPECT_EQ(plan(4, 5000, 140).a.block, 1024);
  EXPECT_EQ(plan(8, 1000, 600).a.block, 512);
  EXPECT_EQ(plan(8, 1000, 600).b.block, 512);
  EXPECT_EQ(plan(16, 500, 300).a.block, 256);
  // Not of small items, nor of short sides.
  EXPECT_EQ(plan(2, 5000, 140).a.block, 256);
  EXPECT_EQ(plan(4, 32, 5000).b.block, 1024);
  EXPECT_EQ(plan(4, 31, 5000).b.block, 128);
  EXPECT_EQ(plan(4, 31, 5000).a.block, 31);
  // Few columns of any items, which the first cache holds if they compete.
  EXPECT_EQ(plan(4, 5000, 33).a.block, 1024);
  EXPECT_EQ(plan(4, 5000, 32).a.block, 512);
  EXPECT_EQ(plan(2, 5000, 64).a.block, 1024);
  EXPECT_EQ(plan(2, 5000, 65).a.block, 256);
  EXPECT_EQ(plan(4, 2048, 32).a.block, 128);
  // Nor if columns compete, or squares of lines are read.
  EXPECT_EQ(plan(4, 4 * 1024, 100).a.block, 128);
  EXPECT_EQ(plan(4, 5 * 512, 100).a.block, 1024);
  const Machine wide = {.shuffle = 128, .vector = 64};
  EXPECT_EQ(PlanOf(4, 1024 + 16, 256, wide, 3072).squares, Square::kWhole);
  EXPECT_EQ(PlanOf(4, 1024 + 16, 256, wide, 3072).a.block, 256);
}

}  // namespace
}  // namespace axis
