// Claims of kernels/copy/digits/digits.h about windows: for which copies they
// are used, and that each byte goes where it belongs.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/copy/digits/digits.h"
#include "tests/kernels/copy/random_axes.h"

namespace axis {
namespace {

using testing::Blocks;
using testing::Found;
using testing::MoveRandomAxes;

TEST(WindowsTest, TheyAreForBlocksWithFewItemsOnASide) {
  constexpr Machine kNoLookups{.shuffle = 16};
  // Sides that lie apart have several loops.
  auto wanted = [&](int64_t item, int64_t a, int a_loops, int64_t b,
                    int b_loops) {
    BlockPlan plan = Blocks(Kernel::kTranspose, item, a, b, 100);
    plan.a.num_loops = a_loops;
    plan.b.num_loops = b_loops;
    return WindowsFor(plan, kNoLookups);
  };
  struct Limit {
    int64_t item, most, most_of_rows;
  };
  for (const Limit& limit :
       {Limit{1, 6, 10}, {2, 7, 7}, {4, 3, 6}, {8, 3, 5}}) {
    SCOPED_TRACE(limit.item);
    const int64_t item = limit.item, most = limit.most;
    EXPECT_EQ(wanted(item, most, 1, 300, 2), Wanted::kAny);
    EXPECT_NE(wanted(item, most + 1, 1, 300, 2), Wanted::kAny);
    EXPECT_EQ(wanted(item, most, 2, 300, 2), Wanted::kAny);
    EXPECT_NE(wanted(item, most + 1, 2, 300, 2), Wanted::kAny);
    EXPECT_EQ(wanted(item, 300, 2, limit.most_of_rows, 1), Wanted::kAny);
    EXPECT_NE(wanted(item, 300, 2, limit.most_of_rows + 1, 1), Wanted::kAny);
  }
  // Only by lookups while a side is shorter than a piece.
  EXPECT_EQ(wanted(1, 15, 1, 300, 2), Wanted::kLookedUp);
  EXPECT_EQ(wanted(1, 16, 1, 300, 2), Wanted::kNone);
  EXPECT_EQ(wanted(4, 4, 1, 300, 2), Wanted::kNone);
  EXPECT_EQ(wanted(16, 2, 1, 2, 2), Wanted::kNone);
}

TEST(WindowsTest, TheyAreForNothingThatBlocksDoFaster) {
  constexpr Machine kNoLookups{.shuffle = 16};
  BlockPlan plan = Blocks(Kernel::kTranspose, 4, 3, 7, 48);
  plan.a.num_loops = plan.b.num_loops = 1;
  EXPECT_EQ(WindowsFor(plan, kNoLookups), Wanted::kAny);
  // Matrices of which many follow one another.
  plan.batch.extent = 49;
  EXPECT_EQ(WindowsFor(plan, kNoLookups), Wanted::kNone);
  plan.b.num_loops = 2;
  EXPECT_EQ(WindowsFor(plan, kNoLookups), Wanted::kAny);
  plan.a.num_loops = 2;
  plan.b.num_loops = 1;
  EXPECT_EQ(WindowsFor(plan, kNoLookups), Wanted::kAny);
  constexpr int64_t kColumns[] = {0, 100};
  plan.columns = kColumns;
  EXPECT_EQ(WindowsFor(plan, kNoLookups), Wanted::kNone);
  plan.columns = {};
  plan.kernel = Kernel::kInterleave;
  EXPECT_EQ(WindowsFor(plan, kNoLookups), Wanted::kNone);
}

TEST(WindowsTest, WithLookupsTheyAreForLittleOrFewItemsOfSeveralLoops) {
  constexpr Machine kLookups{.shuffle = kMaxShuffle};
  auto wanted = [&](Kernel kernel, int64_t item, int64_t a, int a_loops,
                    int64_t b, int b_loops, int64_t repetitions) {
    BlockPlan plan = Blocks(kernel, item, a, b, repetitions);
    plan.a.num_loops = a_loops;
    plan.b.num_loops = b_loops;
    return WindowsFor(plan, kLookups);
  };
  constexpr Kernel kTranspose = Kernel::kTranspose;
  // 1 KiB, of matrices with sides below a line.
  EXPECT_EQ(wanted(kTranspose, 4, 4, 1, 8, 1, 8), Wanted::kAny);
  EXPECT_EQ(wanted(kTranspose, 4, 4, 1, 8, 1, 9), Wanted::kNone);
  EXPECT_EQ(wanted(kTranspose, 4, 4, 1, 15, 1, 1), Wanted::kAny);
  EXPECT_EQ(wanted(kTranspose, 4, 4, 1, 16, 1, 1), Wanted::kNone);
  EXPECT_EQ(wanted(kTranspose, 4, 4, 1, 16, 2, 4), Wanted::kAny);
  EXPECT_EQ(wanted(kTranspose, 4, 4, 1, 16, 2, 5), Wanted::kNone);
  EXPECT_EQ(wanted(Kernel::kInterleave, 4, 2, 1, 16, 2, 8), Wanted::kAny);
  EXPECT_EQ(wanted(Kernel::kInterleave, 4, 2, 1, 16, 2, 9), Wanted::kNone);
  EXPECT_EQ(wanted(Kernel::kDeinterleave, 4, 16, 2, 2, 1, 8), Wanted::kAny);
  EXPECT_EQ(wanted(Kernel::kRows, 4, 4, 2, 4, 2, 1), Wanted::kNone);
  EXPECT_EQ(wanted(kTranspose, 16, 2, 2, 2, 2, 1), Wanted::kNone);
  // Few items: up to 4 KiB put together, beyond that looked up.
  EXPECT_EQ(wanted(kTranspose, 4, 256, 2, 4, 1, 1), Wanted::kAny);
  EXPECT_EQ(wanted(kTranspose, 4, 256, 2, 4, 1, 2), Wanted::kLookedUp);
  EXPECT_EQ(wanted(kTranspose, 4, 256, 1, 3, 1, 2), Wanted::kNone);
  EXPECT_EQ(wanted(kTranspose, 4, 256, 2, 7, 1, 2), Wanted::kNone);
  EXPECT_EQ(wanted(kTranspose, 1, 15, 1, 300, 2, 2), Wanted::kNone);
}

TEST(WindowsTest, TheyArePutTogetherOfItemsWhereSourcesHaveLessThanTwo) {
  const auto digits = std::make_unique<Digits>();
  // Three times nine items, of which each is elsewhere.
  const ByteCopy apart{4, {{9, 4, 36}, {9, 100, 4}}};
  ASSERT_TRUE(FindWindows(apart, Wanted::kAny, *digits));
  EXPECT_EQ(digits->num_windows, 7u);
  EXPECT_TRUE(digits->windows[0].by_items);
  EXPECT_FALSE(FindWindows(apart, Wanted::kLookedUp, *digits));
  // Two bytes of each of eight rows, or most of nine.
  auto of_rows = [](int64_t rows) {
    return ByteCopy{1, {{20, 1, rows}, {rows, 300, 1}}};
  };
  ASSERT_TRUE(FindWindows(of_rows(8), Wanted::kLookedUp, *digits));
  EXPECT_FALSE(digits->windows[0].by_items);
  EXPECT_EQ(digits->windows[0].num_sources, 8u);
  ASSERT_TRUE(FindWindows(of_rows(9), Wanted::kAny, *digits));
  EXPECT_TRUE(digits->windows[0].by_items);
  EXPECT_FALSE(FindWindows(of_rows(9), Wanted::kLookedUp, *digits));
}

TEST(WindowsTest, ThereAreNoneOfShortRunsOrOtherItems) {
  const auto digits = std::make_unique<Digits>();
  auto find = [&](const ByteCopy& copy, Wanted wanted = Wanted::kAny) {
    return FindWindows(copy, wanted, *digits);
  };
  EXPECT_TRUE(find({2, {{9, 2, 200}, {8, 100, 2}}}));
  EXPECT_FALSE(find({2, {{9, 2, 200}, {8, 100, 2}}}, Wanted::kNone));
  EXPECT_FALSE(find({2, {{9, 2, 200}, {7, 100, 2}}}));
  EXPECT_FALSE(find({3, {{9, 3, 200}, {8, 100, 3}}}));
  EXPECT_FALSE(find({270, {{9, 270, 3000}}}));
}

TEST(WindowsTest, EveryByteGoesWhereItBelongsAndNothingElseIsTouched) {
  constexpr size_t kByItems = 0;
  const Found found = MoveRandomAxes(
      8, {2, 3, 3, 4, 5, 6, 7, 9},
      [](const ByteCopy& copy, Digits& digits) {
        return FindWindows(copy, Wanted::kAny, digits);
      },
      [](const Digits& digits) {
        const Digits::Window& window = digits.windows[0];
        return window.by_items ? kByItems : window.num_sources;
      });
  EXPECT_GE(found.counts[kByItems], 1000);
  for (size_t num = 1; num <= 8; ++num) EXPECT_GE(found.counts[num], 40) << num;
  EXPECT_GE(found.repeated, 300);
}

}  // namespace
}  // namespace axis
