// Claims of kernels/copy/digits/digits.h about windows: for which copies they
// are used, and that each byte goes where it belongs.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "kernels/copy/digits/digits.h"
#include "tests/kernels/copy/random_axes.h"

namespace axis {
namespace {

using testing::Blocks;
using testing::Found;
using testing::MoveRandomAxes;

TEST(WindowsTest, TheyAreForTheSmallestBlocks) {
  auto are_smallest = [](const BlockPlan& plan) {
    return AreSmallest(plan, {.shuffle = 16});
  };
  EXPECT_TRUE(are_smallest(Blocks(Kernel::kTranspose, 4, 3, 128, 42)));
  EXPECT_FALSE(are_smallest(Blocks(Kernel::kTranspose, 4, 3, 128, 43)));
  EXPECT_FALSE(are_smallest(Blocks(Kernel::kTranspose, 4, 4, 128, 2)));
  EXPECT_TRUE(are_smallest(Blocks(Kernel::kTranspose, 8, 3, 9, 2)));
  EXPECT_FALSE(are_smallest(Blocks(Kernel::kTranspose, 8, 4, 9, 2)));
  EXPECT_FALSE(are_smallest(Blocks(Kernel::kInterleave, 4, 3, 128, 2)));
  BlockPlan plan = Blocks(Kernel::kTranspose, 4, 3, 7, 2);
  EXPECT_TRUE(are_smallest(plan));
  EXPECT_FALSE(AreSmallest(plan, {.shuffle = kMaxShuffle}));
  // Small matrices that follow one another take less time to begin.
  plan.batch.extent = 300;
  EXPECT_TRUE(are_smallest(plan));
  plan.b.loops[0].dst_stride = 3 * 4;
  EXPECT_FALSE(are_smallest(plan));
  plan.batch.extent = 48;
  EXPECT_TRUE(are_smallest(plan));
  constexpr int64_t kColumns[] = {0, 100};
  plan.b.loops[0].dst_stride = 100;
  plan.columns = kColumns;
  EXPECT_FALSE(are_smallest(plan));
}

TEST(WindowsTest, TheyHaveNoMoreThanEightSourcesInTheMean) {
  const auto digits = std::make_unique<Digits>();
  EXPECT_FALSE(FindWindows({1, {{9, 1, 9}, {9, 81, 1}}}, *digits));
  ASSERT_TRUE(FindWindows({4, {{9, 4, 36}, {9, 100, 4}}}, *digits));
  EXPECT_EQ(digits->num_windows, 7u);  // three times nine items
  EXPECT_EQ(digits->windows[0].num_sources, 4u);
  ASSERT_TRUE(FindWindows({2, {{9, 2, 200}, {8, 100, 2}}}, *digits));
  EXPECT_EQ(digits->windows[0].num_sources, 8u);
  // Nor fewer than 16 bytes that follow one another, or items of other widths.
  EXPECT_FALSE(FindWindows({2, {{9, 2, 200}, {7, 100, 2}}}, *digits));
  EXPECT_FALSE(FindWindows({3, {{9, 3, 200}, {8, 100, 3}}}, *digits));
  EXPECT_FALSE(FindWindows({270, {{9, 270, 3000}}}, *digits));
}

TEST(WindowsTest, EveryByteGoesWhereItBelongsAndNothingElseIsTouched) {
  const Found found = MoveRandomAxes(
      8, {2, 3, 3, 4, 5, 6, 7, 9}, FindWindows,
      [](const Digits& digits) { return digits.windows[0].num_sources; });
  for (size_t num = 1; num <= 8; ++num) EXPECT_GE(found.counts[num], 40) << num;
  EXPECT_GE(found.repeated, 300);
}

}  // namespace
}  // namespace axis
