// Claims of kernels/copy/block.h: short rows, columns and runs, of which
// repetitions are moved as one by way of scratch, are moved to the byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/copy/block.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/plan/block_plan.h"
#include "tests/kernels/copy_checker.h"
#include "tests/kernels/random_copy.h"

namespace axis {
namespace {

using testing::EveryTarget;
using testing::GuardedBuffer;
using testing::Random;

// `times` x `patches` matrices of few rows and columns, transposed: those of
// one patch go on in one another along side A, or come from one another along
// B.
ByteCopy ShortMatrices(Random& random, bool first) {
  const int64_t item = int64_t{1} << random.In(0, 3);
  const int64_t few = random.In(1, (15 / item + 1) / 2) + 1;
  const int64_t many = random.In(2, std::max<int64_t>(2, 70 / item));
  const int64_t times = random.In(2, random.OneIn(9) ? 5000 / many : 200);
  const int64_t patches = random.In(1, 4), chunk = few * many * item;
  const int64_t run = many * item, piece = few * item;
  const int64_t apart = patches * chunk + random.In(0, 2) * item;
  const int64_t line = times * run + random.In(0, 2) * item;
  if (first)
    return {item,
            {{patches, chunk, few * line},
             {few, item, line},
             {times, apart, run},
             {many, piece, item}}};
  return {item,
          {{times, run, apart},
           {patches, few * line, chunk},
           {many, item, piece},
           {few, line, item}}};
}

// (X, Y, num_a, num_b) by 1, 0, 3, 2: short runs, permuted, and their order.
ByteCopy ShortRuns(Random& random) {
  const int64_t item = random.In(1, 5), num_b = random.In(2, 64 / item / 2);
  const int64_t num_a = random.In(2, 64 / item / num_b);
  const int64_t x = random.In(2, 150), y = random.In(2, 150);
  const int64_t run = num_a * num_b * item;
  const int64_t gap = random.OneIn(2) ? 0 : random.In(0, 9);
  const bool reads = random.OneIn(2);  // the gaps are in the source
  return {item,
          {{y, run, x * run + (reads ? 0 : gap)},
           {x, y * run + (reads ? gap : 0), run},
           {num_b, item, num_a * item},
           {num_a, num_b * item, item}}};
}

// Moves what `make(random)` makes; returns how many plans there were of each
// way to move repetitions as one.
template <class Make>
std::array<int64_t, 3> MoveTogether(Make make) {
  const GuardedBuffer src(2 << 20), dst(2 << 20);
  Random random(13);
  EveryTarget target;
  std::array<int64_t, 3> together = {};
  for (int64_t i = 0; i < 4000; ++i) {
    target.Use(static_cast<size_t>(i));
    const ByteCopy copy = make(random);
    BlockPlan plan = PlanBlocks(copy, {}, 1 << 19, ThisMachine());
    ++together[static_cast<size_t>(plan.together)];
    // Blocks of a line or more, so that what is left may be less.
    const int64_t repetition = plan.a.extent * plan.b.extent * plan.item;
    if (plan.together != Together::kNone && random.OneIn(2))
      plan.batch_block = std::min(plan.batch_block, 15 * 64 / repetition + 1);
    const bool same = testing::MovesLike(random, src, dst, copy, plan);
    EXPECT_TRUE(same) << "plan " << i << ", repetitions of " << plan.a.extent
                      << " x " << plan.b.extent << " items of " << plan.item;
    if (!same) break;
  }
  return together;
}

TEST(TogetherTest, RepetitionsOfShortRowsAndColumnsAreMovedAsOne) {
  const auto together = MoveTogether(
      [](Random& random) { return ShortMatrices(random, random.OneIn(2)); });
  EXPECT_GE(together[static_cast<size_t>(Together::kFirst)], 400);
  EXPECT_GE(together[static_cast<size_t>(Together::kLast)], 400);
}

TEST(TogetherTest, ShortRunsThatLieApartAreShuffledTogether) {
  const auto together = MoveTogether(ShortRuns);
  EXPECT_GE(together[static_cast<size_t>(Together::kFirst)], 400);
  EXPECT_GE(together[static_cast<size_t>(Together::kLast)], 400);
}

}  // namespace
}  // namespace axis
