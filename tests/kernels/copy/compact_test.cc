// Claims of kernels/copy/block/rows/compact-inl.h: short items that lie apart
// in the source come to follow one another, whatever their length and distance,
// and nothing is read or written beside them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "kernels/copy/block.h"
#include "kernels/copy/plan/block_plan.h"
#include "tests/kernels/copy_checker.h"
#include "tests/kernels/random_copy.h"

namespace axis {
namespace {

using testing::Bytes;
using testing::EveryTarget;
using testing::GuardedBuffer;
using testing::Random;

// `count` items, `step` apart, `repetitions` times.
struct Items {
  int64_t item, step, count, repetitions, src_batch, dst_batch, tail;

  explicit Items(Random& random) {
    item = random.In(1, kCompactItem);
    step = random.In(item + 1, random.OneIn(2) ? 2 * item + 1 : kLineBytes);
    count = random.In(2, random.OneIn(2) ? 40 : 4000);
    repetitions = random.OneIn(2) ? 1 : random.In(2, 60);
    repetitions = std::clamp<int64_t>(200000 / (count * step), 1, repetitions);
    // Repetitions that follow one another at once, or after a gap.
    src_batch = count * step + random.In(1, 40);
    dst_batch = count * item + (random.OneIn(2) ? 0 : random.In(1, 80));
    // Other bytes of the source may follow, or none.
    tail = random.OneIn(2) ? 0 : random.In(1, 80);
  }

  int64_t src_bytes() const {
    return (repetitions - 1) * src_batch + (count - 1) * step + item + tail;
  }
  int64_t dst_bytes() const {
    return (repetitions - 1) * dst_batch + count * item;
  }

  BlockPlan PlanFor(int64_t total_bytes) const {
    ByteCopy copy{item, {{count, step, item}}};
    if (repetitions > 1)
      copy.loops.insert(copy.loops.begin(),
                        {repetitions, src_batch, dst_batch});
    return PlanBlocks(copy, {}, total_bytes, ThisMachine());
  }

  void Expect(const std::byte* src, std::byte* dst) const {
    for (int64_t t = 0; t < repetitions; ++t)
      for (int64_t k = 0; k < count; ++k)
        std::memcpy(dst + t * dst_batch + k * item,
                    src + t * src_batch + k * step, static_cast<size_t>(item));
  }
};

TEST(CompactTest, BringsItemsTogetherAndTouchesNothingElse) {
  const GuardedBuffer src(1 << 20), dst(1 << 20);
  Random random(5);
  EveryTarget target;
  int64_t streamed = 0, lookups = 0, realigned = 0;
  for (int64_t i = 0; i < 20000; ++i) {
    target.Use(static_cast<size_t>(i));
    const Items items(random);
    const BlockPlan plan =
        items.PlanFor(random.OneIn(2) ? int64_t{1} << 30 : 1 << 20);
    ASSERT_EQ(plan.kernel == Kernel::kCompact,
              items.count * items.item >= kLineBytes);
    ASSERT_LE(plan.stream, ThisMachine().LooksUp());
    streamed += plan.stream;
    lookups += ThisMachine().LooksUp();
    realigned += plan.realigns;
    ASSERT_TRUE(testing::MovesAsExpected(
        random, src, items.src_bytes(), dst, items.dst_bytes(),
        [&](const std::byte* from, std::byte* to) {
          MoveBlocks(plan, Bytes(from), Bytes(from) + items.src_bytes(),
                     Bytes(to));
        },
        [&](const std::byte* from, std::byte* to) { items.Expect(from, to); }))
        << "plan " << i << ": " << items.count << " items of " << items.item
        << ", " << items.step << " apart, " << items.repetitions << " times";
  }
  EXPECT_GE(streamed, lookups / 10);
  EXPECT_GE(realigned, lookups / 10);
}

TEST(CompactTest, TakesFewColumnsApart) {
  const GuardedBuffer src(1 << 20), dst(1 << 20);
  Random random(6);
  EveryTarget target;
  int64_t lookups = 0, compact = 0;
  for (int64_t i = 0; i < 6000; ++i) {
    target.Use(static_cast<size_t>(i));
    const int64_t item = random.In(3, 7), few = random.In(2, 5);
    const int64_t count = random.In(2, 6000 / few);
    const int64_t times = random.OneIn(2) ? 1 : random.In(2, 5);
    const int64_t column = count * item + random.In(0, 1) * random.In(1, 80);
    const int64_t src_batch = count * few * item, dst_batch = few * column;
    ByteCopy copy{item, {{few, item, column}, {count, few * item, item}}};
    if (times > 1)
      copy.loops.insert(copy.loops.begin(), {times, src_batch, dst_batch});
    const BlockPlan plan = PlanBlocks(
        copy, {}, random.OneIn(2) ? int64_t{1} << 30 : 1 << 20, ThisMachine());
    lookups += ThisMachine().LooksUp();
    compact += plan.kernel == Kernel::kCompact;
    ASSERT_TRUE(testing::MovesAsExpected(
        random, src, times * src_batch, dst, times * dst_batch,
        [&](const std::byte* from, std::byte* to) {
          MoveBlocks(plan, Bytes(from), Bytes(from) + times * src_batch,
                     Bytes(to));
        },
        [&](const std::byte* from, std::byte* to) {
          for (int64_t t = 0; t < times; ++t)
            for (int64_t k = 0; k < count * few; ++k)
              std::memcpy(
                  to + t * dst_batch + k % few * column + k / few * item,
                  from + t * src_batch + k * item, static_cast<size_t>(item));
        }))
        << "plan " << i << ": " << count << " x " << few << " items of " << item
        << ", " << column << " bytes a column, " << times << " times";
  }
  EXPECT_GE(compact, lookups / 4);
}

TEST(CompactTest, IsForShortItemsWithinLinesThatNobodyElseTakes) {
  const auto kernel = [](const ByteCopy& copy) {
    return PlanBlocks(copy, {}, 1 << 20, ThisMachine()).kernel;
  };
  EXPECT_EQ(kernel({3, {{1000, 4, 3}}}), Kernel::kCompact);
  EXPECT_EQ(kernel({16, {{1000, 64, 16}}}), Kernel::kCompact);
  EXPECT_EQ(kernel({17, {{1000, 64, 17}}}), Kernel::kRows);
  EXPECT_EQ(kernel({16, {{1000, 65, 16}}}), Kernel::kRows);
  EXPECT_EQ(kernel({3, {{22, 4, 3}}}), Kernel::kCompact);
  EXPECT_EQ(kernel({3, {{21, 4, 3}}}), Kernel::kRows);
  // Few columns of items that are transposed only if they are padded.
  const Kernel few = ThisMachine().LooksUp() ? Kernel::kCompact : Kernel::kRows;
  EXPECT_EQ(kernel({3, {{4, 3, 1026}, {342, 12, 3}}}), few);
  EXPECT_EQ(kernel({3, {{4, 3, 1023}, {341, 12, 3}}}), Kernel::kRows);
  EXPECT_EQ(kernel({9, {{4, 9, 9000}, {1000, 36, 9}}}), Kernel::kRows);
  // Gaps in the destination; items between that go elsewhere.
  EXPECT_EQ(kernel({3, {{1000, 4, 5}}}), Kernel::kRows);
  EXPECT_EQ(kernel({3, {{5, 3, 3000}, {1000, 15, 3}}}), Kernel::kRows);
}

}  // namespace
}  // namespace axis
