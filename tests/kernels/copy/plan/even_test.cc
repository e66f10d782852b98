// Claims of kernels/copy/plan/even.h: what is cut off extents that few numbers
// divide, and that such copies are whole all the same.
#include "kernels/copy/plan/even.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/copy.h"
#include "kernels/ops.h"
#include "kernels/plan.h"
#include "kernels/view.h"
#include "tests/kernels/random_copy.h"

namespace axis {
namespace {

// How many of the `extent` matrices of 3 columns of 8 bytes are copied by
// themselves, where they lie one after the other in each of 400 rows.
int64_t EvenPartOf(int64_t extent) {
  const ByteCopy copy{
      8, {{3, 8, extent * 3200}, {extent, 24, 3200}, {400, extent * 24, 8}}};
  const std::optional<EvenPart> part = FindEvenPart(copy);
  if (!part) return extent;
  EXPECT_EQ(part->loop, 1u);
  return part->extent;
}

TEST(EvenTest, ExtentsThatFewNumbersDivideAreCut) {
  // 21 rows of 24 bytes make 512.
  EXPECT_EQ(EvenPartOf(10859), 10857);  // a prime: 517 times 21, and 2
  EXPECT_EQ(EvenPartOf(10856), 10836);  // at most 8 times something
  EXPECT_EQ(EvenPartOf(10860), 10860);  // 543 times 20
  EXPECT_EQ(EvenPartOf(211), 210);
  EXPECT_EQ(EvenPartOf(220), 220);  // 20
  EXPECT_EQ(EvenPartOf(21), 21);    // all of it
  EXPECT_EQ(EvenPartOf(22), 22);    // 11 is half
  EXPECT_EQ(EvenPartOf(23), 22);    // 11 twice, and 1
  EXPECT_EQ(EvenPartOf(29), 28);    // 14 twice
}

TEST(EvenTest, TheOtherSideIsNoneToGrowAlong) {
  // Rows of 37, one after the other, are those that are transposed.
  EXPECT_FALSE(
      FindEvenPart({4, {{100, 1776, 1776}, {37, 4, 48}, {12, 148, 4}}}));
}

TEST(EvenTest, LongRowsAndShortCopiesStayWhole) {
  const auto cuts = [](int64_t row, int64_t rows) {
    return FindEvenPart({4,
                         {{row, 4, rows * 148},
                          {37, row * 4, rows * 4},
                          {rows, row * 148, 4}}})
        .has_value();
  };
  EXPECT_TRUE(cuts(20, 100));
  EXPECT_FALSE(cuts(65, 100));  // nearly all of 512 bytes
  EXPECT_TRUE(cuts(20, 23));    // 68080 bytes
  EXPECT_FALSE(cuts(20, 22));
}

TEST(EvenTest, NothingIsLeftOut) {
  testing::Random random(3);
  const std::vector<int64_t> primes = {37, 61, 101, 197, 211, 577, 1009};
  for (int i = 0; i < 200; ++i) {
    const int64_t bytes = int64_t{1} << random.In(0, 3);
    Shape shape = {random.In(2, 40), random.Of(primes), random.In(2, 12)};
    if (random.OneIn(2)) shape.insert(shape.begin(), random.In(2, 12));
    const View view = Permute(Dense(shape), random.Order(shape.size()));
    const Plan plan = CompilePlan(view, bytes * 8);
    const auto size = static_cast<size_t>(BitsOf(plan) / 8);
    std::vector<std::byte> src(size), dst(size), expected(size);
    random.Fill(src.data(), size);
    testing::CopyElements(view, Dense(ShapeOf(view)), bytes * 8, src.data(),
                          expected.data());
    const std::span<const std::byte> source(src);
    const Target target{&plan, dst.data()};
    Copy({&source, 1}, {&target, 1});
    ASSERT_EQ(dst, expected) << "copy " << i;
  }
}

}  // namespace
}  // namespace axis
