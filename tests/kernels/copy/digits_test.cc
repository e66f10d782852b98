// Claims of kernels/copy/digits/digits.h: which copies have digits, for which
// of them they are used, and that each byte goes where it belongs.
#include "kernels/copy/digits/digits.h"

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <memory>
#include <span>
#include <vector>

#include "kernels/copy.h"
#include "kernels/program.h"
#include "tests/kernels/copy/random_axes.h"
#include "tests/kernels/copy_checker.h"
#include "tests/kernels/random_copy.h"

namespace axis {
namespace {

using testing::Blocks;
using testing::Found;
using testing::MoveRandomAxes;

// A transposition of axes of `extents` so that axis order[i] comes i-th.
ByteCopy Transposition(int64_t item, const std::vector<int64_t>& extents,
                       const std::vector<int64_t>& order) {
  std::vector<int64_t> src(extents.size());
  int64_t stride = item;
  for (size_t i = extents.size(); i-- > 0; stride *= extents[i])
    src[i] = stride;
  ByteCopy copy{item, {}};
  stride = item;
  for (size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<size_t>(order[i]);
    copy.loops.insert(copy.loops.begin(), {extents[axis], src[axis], stride});
    stride *= extents[axis];
  }
  Canonicalize(copy);
  return copy;
}

// The number of vectors that are transposed at a time; 0 if there are no
// digits.
size_t NumVectors(const ByteCopy& copy) {
  const auto digits = std::make_unique<Digits>();
  return FindDigits(copy, *digits) ? digits->num : 0;
}

bool IsByDigits(const ByteCopy& copy, const Machine& machine) {
  return AreTooSmall(PlanBlocks(copy, {}, BytesOf(copy), machine), machine) &&
         NumVectors(copy) > 0;
}

// Even axes first, then odd ones: what makes a line of either side is on both.
ByteCopy OddsLast(int64_t item, int64_t extent) {
  return Transposition(item, std::vector<int64_t>(12, extent),
                       {0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11});
}

TEST(DigitsTest, VectorsOfBothSidesMustBeMadeOfPowersOfTwo) {
  EXPECT_EQ(NumVectors(Transposition(4, {2, 2, 2, 2}, {3, 2, 1, 0})), 4u);
  EXPECT_EQ(NumVectors(Transposition(4, {12, 3, 12}, {2, 1, 0})), 4u);
  EXPECT_EQ(NumVectors(Transposition(4, {12, 3, 6}, {2, 1, 0})), 0u);
  EXPECT_EQ(NumVectors(Transposition(4, {6, 3, 12}, {2, 1, 0})), 0u);
  // Neither too few of them, nor items that no register transposes.
  EXPECT_EQ(NumVectors(Transposition(4, {2, 3, 2}, {2, 1, 0})), 0u);
  EXPECT_EQ(NumVectors(Transposition(3, {8, 8, 8}, {2, 1, 0})), 0u);
  // Nor may there be gaps.
  EXPECT_EQ(NumVectors({4, {{4, 4, 32}, {4, 16, 4}}}), 4u);
  EXPECT_EQ(NumVectors({4, {{4, 8, 32}, {4, 32, 4}}}), 0u);
}

TEST(DigitsTest, WhatBothSidesHaveOfAVectorStaysInOne) {
  // Of 16 bytes, 1, 2, 4 and 8 at a time are neighbours on both sides.
  EXPECT_EQ(NumVectors(Transposition(1, {16, 16}, {1, 0})), 16u);
  EXPECT_EQ(NumVectors(OddsLast(1, 2)), 4u);
  EXPECT_EQ(NumVectors(OddsLast(1, 4)), 4u);
  EXPECT_EQ(NumVectors(Transposition(2, {2, 8, 2}, {2, 0, 1})), 2u);
  EXPECT_EQ(NumVectors(Transposition(2, {8, 2, 2, 2}, {0, 3, 2, 1})), 1u);
  EXPECT_EQ(NumVectors(Transposition(16, {3, 5, 7}, {2, 1, 0})), 1u);
}

TEST(DigitsTest, TheyAreForBlocksThatAreTooSmall) {
  constexpr Machine kMachine = {.l2 = 512 << 10, .shuffle = 16};
  EXPECT_TRUE(IsByDigits(OddsLast(4, 2), kMachine));
  EXPECT_TRUE(IsByDigits(OddsLast(1, 2), kMachine));
  EXPECT_TRUE(IsByDigits(Transposition(1, {8, 65536}, {1, 0}), kMachine));
  EXPECT_TRUE(IsByDigits(Transposition(1, {65536, 8}, {1, 0}), kMachine));
  // Long axes make blocks, and small matrices are moved many at a time.
  EXPECT_FALSE(IsByDigits(Transposition(4, {1024, 1024}, {1, 0}), kMachine));
  EXPECT_FALSE(IsByDigits(Transposition(2, {17200, 8}, {1, 0}), kMachine));
  EXPECT_FALSE(
      IsByDigits(Transposition(1, {65536, 16, 8}, {0, 2, 1}), kMachine));
}

bool WithoutLookups(const BlockPlan& plan) {
  return AreTooSmall(plan, {.shuffle = 16});
}

TEST(DigitsTest, BlocksAreTooSmallWithSidesBelowALineAndShortRepetitions) {
  const auto are_too_small = WithoutLookups;
  EXPECT_TRUE(are_too_small(Blocks(Kernel::kTranspose, 4, 15, 512, 2)));
  EXPECT_FALSE(are_too_small(Blocks(Kernel::kTranspose, 4, 16, 512, 2)));
  EXPECT_FALSE(are_too_small(Blocks(Kernel::kTranspose, 4, 512, 16, 2)));
  EXPECT_TRUE(are_too_small(Blocks(Kernel::kTranspose, 4, 8, 512, 4)));
  EXPECT_FALSE(are_too_small(Blocks(Kernel::kTranspose, 4, 8, 512, 5)));
  EXPECT_TRUE(are_too_small(Blocks(Kernel::kInterleave, 4, 2, 64, 8)));
  EXPECT_FALSE(are_too_small(Blocks(Kernel::kInterleave, 4, 2, 64, 9)));
  EXPECT_TRUE(are_too_small(Blocks(Kernel::kDeinterleave, 4, 64, 2, 8)));
  EXPECT_FALSE(are_too_small(Blocks(Kernel::kDeinterleave, 4, 64, 2, 9)));
  EXPECT_FALSE(are_too_small(Blocks(Kernel::kRows, 4, 2, 2, 2)));
  // Columns of a split lie where they lie.
  constexpr int64_t kColumns[] = {0, 100};
  BlockPlan split = Blocks(Kernel::kTranspose, 4, 8, 2, 4);
  EXPECT_TRUE(are_too_small(split));
  split.columns = kColumns;
  EXPECT_FALSE(are_too_small(split));
}

TEST(DigitsTest, SidesBelowAVectorAreTooSmallUnlessColumnsArePackedAndShort) {
  BlockPlan plan = Blocks(Kernel::kTranspose, 4, 3, 100, 10000);
  EXPECT_TRUE(WithoutLookups(plan));
  plan.a.extent = 4;
  EXPECT_FALSE(WithoutLookups(plan));
  plan = Blocks(Kernel::kTranspose, 4, 7, 3, 10000);
  EXPECT_TRUE(WithoutLookups(plan));
  plan.b.loops[0].dst_stride = 7 * 4;
  EXPECT_FALSE(WithoutLookups(plan));
  plan.batch.extent = 1;
  EXPECT_TRUE(WithoutLookups(plan));
  plan = Blocks(Kernel::kTranspose, 4, 8, 3, 10000);
  plan.b.loops[0].dst_stride = 8 * 4;
  EXPECT_TRUE(WithoutLookups(plan));
}

TEST(DigitsTest, ShortSidesAreTooSmallWhereOthersLieApart) {
  // Rows of 32 bytes of several loops, however many.
  auto are_apart = [](int64_t item, int64_t b, int a_loops, int b_loops) {
    BlockPlan plan = Blocks(Kernel::kTranspose, item, 512, b, 1000);
    plan.a.num_loops = a_loops;
    plan.b.num_loops = b_loops;
    return WithoutLookups(plan);
  };
  EXPECT_FALSE(are_apart(4, 8, 1, 1));
  EXPECT_TRUE(are_apart(4, 8, 2, 1));
  EXPECT_TRUE(are_apart(8, 4, 1, 2));
  EXPECT_FALSE(are_apart(4, 9, 2, 2));
  EXPECT_FALSE(are_apart(16, 1, 2, 2));
  // Of pairs, more take as many shuffles as that gains.
  EXPECT_TRUE(are_apart(2, 8, 2, 1));
  EXPECT_FALSE(are_apart(2, 8, 1, 2));
  EXPECT_FALSE(are_apart(2, 9, 2, 1));
  EXPECT_FALSE(are_apart(1, 16, 2, 2));
  BlockPlan plan = Blocks(Kernel::kTranspose, 2, 8, 5000, 1);
  EXPECT_FALSE(WithoutLookups(plan));
  plan.fetch = true;
  EXPECT_TRUE(WithoutLookups(plan));
}

TEST(DigitsTest, WithLookupsBlocksAreTooSmallBeforeLittle) {
  constexpr Machine kMachine = {.shuffle = kMaxShuffle};
  const auto are_too_small = [&](Kernel kernel, int64_t item, int64_t a,
                                 int64_t b, int64_t repetitions) {
    return AreTooSmall(Blocks(kernel, item, a, b, repetitions), kMachine);
  };
  // 4 KiB, whatever the sides; of what is interleaved 6.
  EXPECT_TRUE(are_too_small(Kernel::kTranspose, 4, 16, 32, 2));
  EXPECT_FALSE(are_too_small(Kernel::kTranspose, 4, 16, 32, 3));
  EXPECT_TRUE(are_too_small(Kernel::kInterleave, 4, 2, 64, 12));
  EXPECT_FALSE(are_too_small(Kernel::kInterleave, 4, 2, 64, 13));
  EXPECT_FALSE(are_too_small(Kernel::kDeinterleave, 4, 34, 3, 20));
  EXPECT_FALSE(are_too_small(Kernel::kTranspose, 16, 2, 2, 2));
  // Sides below a vector; of packed matrices 64 KiB.
  EXPECT_TRUE(are_too_small(Kernel::kTranspose, 4, 3, 512, 11));
  EXPECT_FALSE(are_too_small(Kernel::kTranspose, 4, 4, 512, 2));
  BlockPlan packed = Blocks(Kernel::kTranspose, 4, 7, 3, 780);
  packed.b.loops[0].dst_stride = 7 * 4;
  EXPECT_TRUE(AreTooSmall(packed, kMachine));
  packed.batch.extent = 781;
  EXPECT_FALSE(AreTooSmall(packed, kMachine));
  // 64 KiB of rows below a line and blocks of 2.
  EXPECT_TRUE(are_too_small(Kernel::kTranspose, 4, 34, 15, 32));
  EXPECT_FALSE(are_too_small(Kernel::kTranspose, 4, 34, 15, 33));
  EXPECT_FALSE(are_too_small(Kernel::kTranspose, 4, 35, 15, 31));
  EXPECT_FALSE(are_too_small(Kernel::kTranspose, 4, 31, 16, 31));
}

TEST(DigitsTest, EveryByteGoesWhereItBelongsAndNothingElseIsTouched) {
  const Found found =
      MoveRandomAxes(7, {2, 2, 2, 3, 4, 4, 6, 8, 12, 16, 20}, FindDigits,
                     [](const Digits& digits) { return digits.num; });
  for (size_t num : {1, 2, 4, 8, 16}) EXPECT_GE(found.counts[num], 100) << num;
  EXPECT_GE(found.repeated, 300);
}

TEST(DigitsTest, SeveralWorkersMoveThemInParts) {
  // 4 MiB of axes that no part has whole, and 2 of 3 MiB.
  for (const std::vector<int64_t>& more :
       {std::vector<int64_t>{4, 2}, {2, 3}}) {
    std::vector<int64_t> shape(17, 2);
    shape[0] = more[0], shape[9] = more[1];
    std::vector<int64_t> order = {1, 3, 5, 7, 9,  11, 13, 15, 0,
                                  2, 4, 6, 8, 10, 12, 14, 16};
    const View view = Dense(shape);
    const View permuted = Permute(view, order);
    const auto plan = CompilePlan(permuted, Dense(ShapeOf(permuted)), 32);
    ASSERT_TRUE(plan.has_value());
    const auto elements = static_cast<size_t>(BitsOf(*plan) / 32);
    std::vector<uint32_t> src(elements), dst(elements), expected(elements);
    for (size_t i = 0; i < elements; ++i) src[i] = static_cast<uint32_t>(i);
    size_t k = 0;
    for (int64_t offset : testing::Offsets(permuted))
      expected[k++] = src[static_cast<size_t>(offset)];
    const std::span<const std::byte> source = std::as_bytes(std::span(src));
    const Target target = {&*plan,
                           std::as_writable_bytes(std::span(dst)).data()};
    for (int workers : {1, 2}) {
      std::ranges::fill(dst, 0);
      tbb::task_arena arena(workers);
      arena.execute([&] { Copy({&source, 1}, {&target, 1}); });
      EXPECT_EQ(dst, expected) << workers << " workers";
    }
  }
}

}  // namespace
}  // namespace axis
