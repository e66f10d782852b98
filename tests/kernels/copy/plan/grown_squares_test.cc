// Claims of kernels/copy/plan/transpose/transpose_runs.h about tensors of many
// short axes: sides that are lines only once they have taken in several loops
// are read in whole lines as well, where the CPU looks up and what is read and
// written competes for places in the first cache.
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/copy/block.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/memory/scratch.h"
#include "kernels/copy/plan/block_plan.h"
#include "tests/kernels/copy_checker.h"
#include "tests/kernels/random_copy.h"

namespace axis {
namespace {

using testing::Bytes;
using testing::EveryTarget;
using testing::GuardedBuffer;
using testing::Random;

constexpr Machine kNear{.l2 = 1 << 20, .shuffle = 256, .vector = 64};
constexpr Machine kFar{.l2 = 2 << 20, .shuffle = 256, .vector = 64};
constexpr int64_t kInCache = 4 << 20, kInMemory = 1 << 30;

// The axes of `extents` in reverse.
ByteCopy Reversed(int64_t item, std::span<const int64_t> extents) {
  ByteCopy copy{item, {}};
  int64_t src = item;
  for (const int64_t extent : extents) src *= extent;
  int64_t dst = item;
  for (const int64_t extent : extents) {
    src /= extent;
    copy.loops.insert(copy.loops.begin(), {extent, src, dst});
    dst *= extent;
  }
  return copy;
}

BlockPlan PlanOf(int64_t item, std::vector<int64_t> extents,
                 const Machine& machine = kNear, int64_t bytes = kInCache) {
  return PlanBlocks(Reversed(item, extents), {}, bytes, machine);
}

bool AreSquares(const BlockPlan& plan) {
  return plan.kernel == Kernel::kTranspose && plan.squares != Square::kNone;
}

TEST(GrownSquaresTest, SidesOfSeveralLoopsAreReadInWholeLines) {
  for (const int64_t item : {1, 2, 4, 8}) {
    SCOPED_TRACE(item);
    const std::vector<int64_t> fours(10, 4);
    EXPECT_TRUE(AreSquares(PlanOf(item, fours)));
    EXPECT_TRUE(AreSquares(PlanOf(item, std::vector<int64_t>(20, 2))));
    EXPECT_TRUE(AreSquares(PlanOf(item, fours, kNear, kInMemory)));
    EXPECT_FALSE(PlanOf(item, fours).fetch);
    // Not where a store writes less than a line, nor measured from far away.
    EXPECT_FALSE(AreSquares(PlanOf(item, fours, {.l2 = 1 << 20})));
    EXPECT_FALSE(AreSquares(PlanOf(item, fours, kFar, 1 << 20)));
    // Neither rows nor columns compete.
    EXPECT_FALSE(AreSquares(PlanOf(item, {8, 9, 8, 9, 8})));
  }
  // The longest items are lines soon.
  EXPECT_FALSE(AreSquares(PlanOf(16, {2, 8, 8, 8, 8, 8, 2})));
}

TEST(GrownSquaresTest, TheirRowsAndColumnsAreLong) {
  for (const int64_t item : {2, 4, 8}) {
    SCOPED_TRACE(item);
    const BlockPlan plan = PlanOf(item, std::vector<int64_t>(20, 2));
    EXPECT_EQ(plan.a.extent * item, 512);
    EXPECT_EQ(plan.b.extent * item, 1024);
    EXPECT_EQ(plan.b.block, plan.b.extent);
  }
}

TEST(GrownSquaresTest, RowsMustCompeteAndSoMustColumnsOfAllButFourBytes) {
  // Rows of 8 times 8 items, and columns of the same, `row` and `column` apart.
  const auto squares = [](int64_t item, int64_t row, int64_t column) {
    const ByteCopy copy{item,
                        {{3, 512 * row, 512 * column},
                         {8, 8 * item, 8 * column},
                         {8, 8 * row, 8 * item},
                         {8, item, column},
                         {8, row, item}}};
    return AreSquares(PlanBlocks(copy, {}, kInCache, kNear));
  };
  for (const int64_t item : {1, 2, 4}) {
    SCOPED_TRACE(item);
    EXPECT_TRUE(squares(item, 4096, 4096));
    EXPECT_TRUE(squares(item, 4096, 2048));
    EXPECT_EQ(squares(item, 4096, 4096 + 64), item == 4);
    EXPECT_FALSE(squares(item, 4096, 4096 + 32));
    EXPECT_FALSE(squares(item, 2048, 4096));
    EXPECT_FALSE(squares(item, 4096 + 64, 4096));
  }
}

TEST(GrownSquaresTest, ShortSidesAreNone) {
  // 2 times 4 rows or columns of f32 are half a line, and cannot grow.
  const auto squares = [](int64_t rows, int64_t columns) {
    const ByteCopy copy{4,
                        {{3, 1 << 20, 1 << 20},
                         {columns, 8, 8192},
                         {rows, 8192, 8},
                         {2, 4, 4096},
                         {2, 4096, 4}}};
    return AreSquares(PlanBlocks(copy, {}, kInCache, kNear));
  };
  EXPECT_TRUE(squares(8, 8));
  EXPECT_FALSE(squares(4, 8));
  EXPECT_FALSE(squares(8, 4));
}

TEST(GrownSquaresTest, PairsThatAreNoSquaresAreReadToScratch) {
  // 32 rows that compete, of 16 pairs and so no line, or of 32.
  const auto fetches = [](int64_t rows, int64_t columns) {
    const ByteCopy copy{2,
                        {{8, 2 * columns, rows * columns * 2},
                         {columns, 2, rows * 2},
                         {rows, 8192, 2}}};
    return PlanBlocks(copy, {}, kInCache, kNear).fetch;
  };
  EXPECT_TRUE(fetches(32, 16));
  EXPECT_FALSE(fetches(32, 32));
  EXPECT_TRUE(fetches(16, 32));
  EXPECT_FALSE(fetches(15, 16));
}

TEST(GrownSquaresTest, EachItemGoesWhereItBelongs) {
  const GuardedBuffer src(1 << 20), dst(1 << 20);
  Random random(20261201);
  EveryTarget target;
  int64_t squares = 0, streamed = 0;
  for (int64_t i = 0; i < 160; ++i) {
    target.Use(static_cast<size_t>(i));
    const int64_t item = int64_t{1} << random.In(0, 3);
    std::vector<int64_t> extents;
    int64_t bytes = item;
    for (int64_t next; bytes < 128 << 10; bytes *= next)
      extents.push_back(next = random.OneIn(8) ? 6 : 1 << random.In(1, 3));
    const ByteCopy copy = Reversed(item, extents);
    Machine machine = ThisMachine();
    machine.shuffle = 256;  // plans are to be the same whatever the target
    const BlockPlan plan =
        PlanBlocks(copy, {}, random.OneIn(2) ? kInMemory : kInCache, machine);
    squares += AreSquares(plan);
    streamed += AreSquares(plan) && plan.stream;
    if (plan.stage && !plan.fetch) {
      const int64_t column = RoundUpToLine(plan.a.block * item) + kLineBytes;
      ASSERT_LE(kLineBytes + plan.batch_block * plan.b.block * column,
                kStageBytes);
    }
    ASSERT_TRUE(testing::MovesAsExpected(
        random, src, bytes, dst, bytes,
        [&](const std::byte* from, std::byte* to) {
          MoveBlocks(plan, Bytes(from), Bytes(from) + bytes, Bytes(to));
        },
        [&](const std::byte* from, std::byte* to) {
          testing::MoveItems(copy, from, to);
        }))
        << item << ' ' << ::testing::PrintToString(extents);
  }
  EXPECT_GE(squares, 40);
  EXPECT_GE(streamed, 10);
}

}  // namespace
}  // namespace axis
