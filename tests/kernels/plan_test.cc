// Claims of kernels/plan.h: the post-conditions of CompilePlan.
#include "kernels/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "kernels/ops.h"

namespace axis {
namespace {

View DenseOf(std::vector<int64_t> shape) { return Dense(shape); }

View Transposed(const View& view, std::vector<int64_t> order) {
  return Permute(view, order);
}

// IsSlice() for a destination that holds what the plan writes and no more.
bool IsDenseSlice(const Plan& plan) {
  return IsSlice(plan,
                 PackedBytes(BitsOf(plan) / plan.item_bits, plan.item_bits));
}

TEST(Plan, IdentityIsOneRun) {
  const Plan plan = CompilePlan(DenseOf({8, 3, 224, 224}), 32);
  EXPECT_TRUE(plan.loops.empty());
  EXPECT_EQ(plan.run, 8 * 3 * 224 * 224 * 32);
  EXPECT_TRUE(IsDenseSlice(plan));
}

TEST(Plan, OuterSplitIsASlice) {
  const View piece = *Slice(DenseOf({8, 3, 5}), 0, 2, 4);
  const Plan plan = CompilePlan(piece, 32);
  EXPECT_TRUE(IsDenseSlice(plan));
  EXPECT_EQ(plan.src_offset, 2 * 3 * 5 * 32);
  EXPECT_EQ(plan.run, 4 * 3 * 5 * 32);
}

TEST(Plan, NarrowElementsAreASliceOnlyInWholeUnits) {
  EXPECT_FALSE(IsDenseSlice(CompilePlan(*Slice(DenseOf({9}), 0, 1, 8), 4)));
  EXPECT_FALSE(IsDenseSlice(CompilePlan(*Slice(DenseOf({9}), 0, 2, 3), 4)));
  EXPECT_TRUE(IsDenseSlice(CompilePlan(*Slice(DenseOf({9}), 0, 2, 4), 4)));
  // 8 elements of 3 bits are one unit; 4 of them are no whole bytes.
  EXPECT_TRUE(IsDenseSlice(CompilePlan(*Slice(DenseOf({24}), 0, 8, 8), 3)));
  EXPECT_FALSE(IsDenseSlice(CompilePlan(*Slice(DenseOf({24}), 0, 4, 8), 3)));
  EXPECT_TRUE(IsDenseSlice(CompilePlan(*Slice(DenseOf({8}), 0, 4, 4), 6)));
}

TEST(Plan, ChannelsLastHasThreeLoopsAndExtentsOfOneNone) {
  const Plan plan =
      CompilePlan(Transposed(DenseOf({8, 3, 224, 224}), {0, 2, 3, 1}), 32);
  ASSERT_EQ(plan.loops.size(), 3u);  // N, HW, C
  EXPECT_EQ(plan.loops[1], (Loop{224 * 224, 32, 3 * 32}));
  EXPECT_TRUE(
      IsDenseSlice(CompilePlan(Transposed(DenseOf({1, 33}), {1, 0}), 32)));
  EXPECT_EQ(CompilePlan(Transposed(DenseOf({2, 1, 3, 1}), {3, 2, 1, 0}), 8),
            CompilePlan(Transposed(DenseOf({2, 3}), {1, 0}), 8));
}

TEST(Plan, OfAnEmptyViewCopiesNothing) {
  const Plan plan = CompilePlan(DenseOf({4, 0, 5}), 32);
  EXPECT_EQ(plan.run, 0);
  EXPECT_EQ(BitsOf(plan), 0);
  EXPECT_TRUE(IsDenseSlice(plan));
}

TEST(Plan, PartOfADestinationIsNoSlice) {
  const Plan plan = CompilePlan(DenseOf({1, 3, 1}), 32);
  EXPECT_TRUE(IsSlice(plan, 12));
  EXPECT_FALSE(IsSlice(plan, 16));
}

TEST(Plan, StoredBytesCountPadding) {
  auto bytes = [](std::vector<int64_t> shape, int64_t block, int64_t bits) {
    return StoredBytes(shape, {block}, bits).value_or(-1);
  };
  EXPECT_EQ(bytes({}, 1, 16), 2);
  EXPECT_EQ(bytes({9}, 1, 3), 6);
  EXPECT_EQ(bytes({2, 12, 5}, 1, 32), 480);
  EXPECT_EQ(bytes({2, 12, 5}, 0, 32), 480);
  EXPECT_EQ(bytes({2, 12, 5}, 4, 32), 480);
  EXPECT_EQ(bytes({2, 12, 5}, 16, 32), 640);
  EXPECT_EQ(bytes({2, 17, 5}, 16, 8), 320);
  EXPECT_EQ(bytes({0, 17, 5}, 16, 8), 0);
  EXPECT_EQ(bytes({2, 0, 5}, 16, 8), 0);
  constexpr int64_t kMax = INT64_MAX;
  EXPECT_EQ(bytes({1, kMax}, 1, 8), kMax);
  EXPECT_EQ(bytes({1, kMax}, 16, 8), -1);
  EXPECT_EQ(bytes({kMax / 16, 1}, 16, 8), kMax / 16 * 16);
  EXPECT_EQ(bytes({kMax / 8, 1}, 16, 8), -1);
  EXPECT_EQ(bytes({0, kMax / 8, 1}, 16, 16), 0);
  EXPECT_EQ(bytes({0, 1, kMax / 8}, 16, 8), -1);
}

TEST(Plan, PackedBytesFillsUpTheLastUnit) {
  EXPECT_EQ(PackedBytes(3, 32), 12);
  EXPECT_EQ(PackedBytes(0, 4), 0);
  EXPECT_EQ(PackedBytes(3, 4), 2);
  EXPECT_EQ(PackedBytes(9, 1), 2);
  EXPECT_EQ(PackedBytes(1, 3), 3);
  EXPECT_EQ(PackedBytes(9, 3), 6);
  EXPECT_EQ(PackedBytes(5, 6), 6);
}

TEST(Plan, DestinationMayBeAViewToo) {
  // Scatter: the inverse of a transpose, by exchanging the sides.
  const View dense = DenseOf({4, 5, 6});
  const View turned = Transposed(DenseOf({6, 5, 4}), {2, 1, 0});
  const std::optional<Plan> plan = CompilePlan(dense, turned, 16);
  ASSERT_TRUE(plan.has_value());
  ASSERT_EQ(plan->loops.size(), 3u);
  EXPECT_EQ(plan->loops[0], (Loop{6, 16, 5 * 4 * 16}));
  EXPECT_EQ(plan->loops[2], (Loop{4, 5 * 6 * 16, 16}));
}

TEST(Plan, AxesThatDoNotNestHaveNoPlan) {
  // 6 as 2 x 3 swapped, against 6 as 3 x 2 swapped.
  auto shuffled = [](int64_t group) {
    return (*Apply(ShuffleChannels{0, group}, DenseOf({6})))[0];
  };
  EXPECT_FALSE(CompilePlan(shuffled(2), shuffled(3), 8).has_value());
  EXPECT_TRUE(CompilePlan(shuffled(2), shuffled(2), 8).has_value());
}

TEST(Plan, ViewsThatDifferInWhereTheyBeginAreOnePlanWithPlaces) {
  const View dense = DenseOf({4, 5});
  std::vector<View> src, dst;
  for (const int64_t k : {0, 2, 3}) {
    src.push_back(*Slice(dense, 0, k, 1));
    dst.push_back(*Slice(Transposed(DenseOf({5, 4}), {1, 0}), 0, k, 1));
  }
  std::swap(src[0], src[2]);
  const auto plan = CompilePlan(src, dst, 16);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->run, 16);
  EXPECT_EQ(plan->loops, (absl::InlinedVector<Loop, 8>{{5, 16, 64}}));
  EXPECT_EQ(plan->places,
            (std::vector<Plan::Place>{{0, 0}, {-80, 32}, {-3 * 80, 48}}));
  EXPECT_EQ(BitsOf(*plan), 3 * 5 * 16);
  EXPECT_FALSE(CompilePlan(src, dst, 4).has_value());
  // Another extent; another stride; runs of several.
  src[1] = *Slice(src[1], 1, 0, 4);
  dst[1] = *Slice(dst[1], 1, 0, 4);
  EXPECT_FALSE(CompilePlan(src, dst, 16).has_value());
  src[1].modes[1] = {5, 2}, dst[1].modes[1] = {5, 4};
  EXPECT_FALSE(CompilePlan(src, dst, 16).has_value());
  EXPECT_FALSE(CompilePlan({&src[0], 1}, {&src[0], 1}, 16).has_value());
}

TEST(Plan, PostConditionsHoldOnRandomViews) {
  std::mt19937 rng(7);
  auto pick = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(rng);
  };
  for (int trial = 0; trial < 20000; ++trial) {
    std::vector<int64_t> shape(static_cast<size_t>(pick(0, 6)));
    for (int64_t& e : shape) e = pick(1, 5);
    std::vector<int64_t> order(shape.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = static_cast<int64_t>(i);
    std::shuffle(order.begin(), order.end(), rng);
    View view = Transposed(DenseOf(shape), order);
    if (!shape.empty() && pick(0, 1) == 1) {
      const int64_t extent = ShapeOf(view)[0], from = pick(0, extent - 1);
      view = *Slice(view, 0, from, pick(1, extent - from));
    }
    const Plan plan = CompilePlan(view, 8);
    EXPECT_EQ(BitsOf(plan), SizeOf(view) * 8);
    int64_t dst_stride = INT64_MAX;
    for (size_t i = 0; i < plan.loops.size(); ++i) {
      EXPECT_GT(plan.loops[i].extent, 1);
      EXPECT_LT(plan.loops[i].dst_stride, dst_stride);
      dst_stride = plan.loops[i].dst_stride;
      if (i > 0) {
        const Loop &a = plan.loops[i - 1], &b = plan.loops[i];
        EXPECT_FALSE(a.src_stride == b.extent * b.src_stride &&
                     a.dst_stride == b.extent * b.dst_stride);
      }
    }
    if (!plan.loops.empty()) {
      EXPECT_FALSE(plan.loops.back().src_stride == plan.run &&
                   plan.loops.back().dst_stride == plan.run);
    }
  }
}

// Marks what `plan` moves in `moved`: moved[dst item] = src item.
void Trace(const Plan& plan, size_t k, int64_t src, int64_t dst,
           std::vector<int64_t>& moved) {
  if (k < plan.loops.size()) {
    for (int64_t i = 0; i < plan.loops[k].extent; ++i)
      Trace(plan, k + 1, src + i * plan.loops[k].src_stride,
            dst + i * plan.loops[k].dst_stride, moved);
    return;
  }
  for (int64_t i = 0; i < plan.run; i += plan.item_bits) {
    int64_t& at = moved[static_cast<size_t>((plan.dst_offset + dst + i) /
                                            plan.item_bits)];
    EXPECT_EQ(at, -1) << "moved twice";
    at = (plan.src_offset + src + i) / plan.item_bits;
  }
}

TEST(Plan, PartsDoExactlyTheItemsOfTheirRange) {
  std::mt19937 rng(11);
  auto pick = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(rng);
  };
  for (int trial = 0; trial < 5000; ++trial) {
    std::vector<int64_t> shape(static_cast<size_t>(pick(0, 5)));
    for (int64_t& e : shape) e = pick(1, 5);
    std::vector<int64_t> order(shape.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = static_cast<int64_t>(i);
    std::shuffle(order.begin(), order.end(), rng);
    const View dense = DenseOf(shape);
    View view = dense;
    if (!shape.empty()) {
      const int64_t extent = shape[0], from = pick(0, extent - 1);
      view = *Slice(view, 0, from, pick(1, extent - from));
      if (pick(0, 1) == 1)
        view = (*Apply(ShuffleChannels{0, ShapeOf(view)[0]}, view))[0];
    }
    view = Transposed(view, order);
    const Plan plan = CompilePlan(view, 16);
    const size_t items = static_cast<size_t>(SizeOf(view));
    std::vector<int64_t> whole(items, -1), pieces(items, -1);
    Trace(plan, 0, 0, 0, whole);
    const int64_t total = SizeOf(dense);
    for (int64_t begin = 0; begin < total;) {
      const int64_t end = pick(begin + 1, total);
      ForEachPart(plan, begin * 16, end * 16, [&](const Plan& part) {
        std::vector<int64_t> moved(items, -1);
        Trace(part, 0, 0, 0, moved);
        for (size_t i = 0; i < items; ++i) {
          if (moved[i] == -1) continue;
          ASSERT_GE(moved[i], begin);
          ASSERT_LT(moved[i], end);
          ASSERT_EQ(pieces[i], -1) << "two parts move one item";
          pieces[i] = moved[i];
        }
      });
      begin = end;
    }
    ASSERT_EQ(pieces, whole) << "trial " << trial;
  }
}

}  // namespace
}  // namespace axis
