// Claims of kernels/copy/tiny.h: a few runs, and small matrices, are moved to
// the byte without a plan for blocks of them, or left to one.
#include "kernels/copy/tiny.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/copy.h"
#include "kernels/plan.h"
#include "kernels/view.h"
#include "tests/kernels/copy_checker.h"
#include "tests/kernels/random_copy.h"

namespace axis {
namespace {

using testing::Checker;
using testing::OnEveryTarget;
using testing::Random;
using testing::Reach;

constexpr int kCases = 4000;

// `columns` x `rows` elements that lie so far apart.
View Matrix(int64_t columns, int64_t column_step, int64_t rows,
            int64_t row_step) {
  View view = Dense(Shape{columns, rows});
  view.modes = {{columns, column_step}, {rows, row_step}};
  return view;
}

TEST(TinyTest, TransposesMatricesOfEveryShape) {
  static const std::vector<int64_t> kWidths = {8, 16, 32, 64, 128, 24};
  OnEveryTarget(kCases, [](Random& random, Checker& checker) {
    const int64_t rows = random.In(1, random.OneIn(4) ? 1100 : 70);
    const int64_t columns = random.In(1, random.OneIn(4) ? 300 : 70);
    // With gaps on one side, or on both, no matrix of its own.
    const int64_t src_gap = random.OneIn(4) ? random.In(1, 9) : 0;
    const int64_t dst_gap = random.OneIn(4) ? random.In(1, 9) : 0;
    const View src = Matrix(columns, 1, rows, columns + src_gap);
    checker.Check({src}, {Matrix(columns, rows + dst_gap, rows, 1)},
                  random.Of(kWidths), Reach(src));
  });
}

TEST(TinyTest, MovesAFewItemsOfEveryShape) {
  static const std::vector<int64_t> kWidths = {8, 16, 32, 64, 24, 128};
  OnEveryTarget(kCases, [](Random& random, Checker& checker) {
    const Shape shape = {random.In(1, 5), random.In(1, 9), random.In(1, 9),
                         random.In(1, 3)};
    const View src = Permute(Dense(shape), random.Order(4));
    checker.Check({src}, {Dense(ShapeOf(src))}, random.Of(kWidths),
                  Reach(Dense(shape)));
  });
}

// Of whole bytes or not, in any order.
TEST(TinyTest, CopiesAFewRunsOfEveryLength) {
  static const std::vector<int64_t> kWidths = {8, 32, 24, 128, 4, 1, 3, 6};
  OnEveryTarget(kCases, [](Random& random, Checker& checker) {
    const int64_t bits = random.Of(kWidths);
    const Shape shape = {random.In(1, 4), random.In(1, 4), random.In(1, 4),
                         random.In(1, random.OneIn(4) ? 1000 : 40)};
    const int64_t run = random.OneIn(4) ? random.In(1, shape[3]) : shape[3];
    std::vector<int64_t> order = random.Order(3);
    order.push_back(3);
    const View all = Permute(Dense(shape), order);
    const View src = *Slice(all, 3, 0, run);
    // With gaps between them, where those are not a type's own bits.
    const View dst = bits % 8 == 0 && random.OneIn(4)
                         ? *Slice(Dense(ShapeOf(all)), 3, 0, run)
                         : Dense(ShapeOf(src));
    checker.Check({src}, {dst}, bits, Reach(Dense(shape)));
  });
}

// How a plan is carried out without one for blocks.
struct Taken {
  bool as_items, as_runs, as_matrix;
};

Taken Take(const View& src, int64_t bits) {
  static std::vector<std::byte> from(1 << 20), to(1 << 20);
  const Plan plan = *CompilePlan(src, Dense(ShapeOf(src)), bits);
  const auto* end = reinterpret_cast<const uint8_t*>(from.data() + from.size());
  return {CopyTiny(plan, from.data(), to.data(), kTinyItemsAlone),
          CopyFewRuns(plan, from.data(), to.data()),
          CopyMatrix(plan, from.data(), end, to.data())};
}

TEST(TinyTest, TakesAsManyItemsAsThereMayBe) {
  auto items = [](int64_t count, int64_t bits) {
    return Take(Matrix(count / 4, 1, 4, count / 4), bits).as_items;
  };
  EXPECT_TRUE(items(kTinyItemsAlone, 8));
  EXPECT_TRUE(items(kTinyItemsAlone, 64));
  EXPECT_FALSE(items(kTinyItemsAlone + 4, 8));
  EXPECT_FALSE(items(8, 24));  // of no usual size
  EXPECT_FALSE(items(8, 4));
}

TEST(TinyTest, TakesAsManyRunsAsThereMayBe) {
  static const std::vector<int64_t> kOrder = {1, 0, 2};
  auto runs = [](int64_t count, int64_t bits) {
    return Take(Permute(Dense(Shape{2, count / 2, 100}), kOrder), bits).as_runs;
  };
  EXPECT_TRUE(runs(kFewRuns, 8));
  EXPECT_FALSE(runs(kFewRuns + 2, 8));
  EXPECT_TRUE(runs(4, 4));
  EXPECT_FALSE(runs(4, 1));  // half a byte at the end of each
}

TEST(TinyTest, TakesMatricesThatFitTheFirstCache) {
  auto matrix = [](int64_t rows, int64_t columns, int64_t bits) {
    return Take(Matrix(columns, 1, rows, columns), bits).as_matrix;
  };
  EXPECT_TRUE(matrix(5, 5, 8));
  EXPECT_TRUE(matrix(4, 64, 8));  // interleaved
  EXPECT_TRUE(matrix(64, 4, 8));
  EXPECT_TRUE(matrix(4, kMaxOffsets + 1, 8));
  EXPECT_TRUE(matrix(3, 4, 64));
  EXPECT_FALSE(matrix(3, 3, 64));  // less than a vector of each
  EXPECT_FALSE(matrix(4, 64, 128));
  EXPECT_TRUE(matrix(128, 128, 8));
  EXPECT_FALSE(matrix(128, 129, 8));
  EXPECT_FALSE(matrix(8, kMaxOffsets + 1, 8));
  EXPECT_TRUE(matrix(32, 32, 128));
  EXPECT_FALSE(matrix(32, 32, 24));  // of no register
  EXPECT_FALSE(matrix(64, 64, 4));
}

}  // namespace
}  // namespace axis
