// Claims of kernels/copy/plan/spacing.h: rows and columns that lie nearly a way
// of the first cache apart evict each other, and so go by way of scratch.
#include <gtest/gtest.h>

#include <cstring>

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

// `num_b` columns of `num_a` items, of rows without gaps.
ByteCopy Matrix(int64_t item, int64_t num_a, int64_t num_b) {
  return {item, {{num_b, item, num_a * item}, {num_a, num_b * item, item}}};
}

TEST(CrowdedTest, RowsThatLieNearlyAWayApartAreReadToScratchFirst) {
  const auto fetches = [](int64_t item, int64_t num_a, int64_t row,
                          int64_t total_bytes = 1 << 20,
                          int64_t shuffle = 256) {
    const ByteCopy copy{item, {{64, item, 1000 * item}, {num_a, row, item}}};
    return PlanBlocks(copy, {}, total_bytes,
                      {.l2 = 512 << 10, .shuffle = shuffle})
        .fetch;
  };
  const int64_t in_cache = 1 << 20;
  for (const int64_t shuffle : {64, 256}) {
    SCOPED_TRACE(shuffle);
    for (const int64_t row : {4095, 4099, 5461, 3 * 4096 + 1})
      EXPECT_TRUE(fetches(1, 64, row, in_cache, shuffle)) << row;
    EXPECT_TRUE(fetches(2, 64, 2 * 2049, in_cache, shuffle));
    EXPECT_TRUE(fetches(4, 16, 4 * 1025, in_cache, shuffle));
    // Not if they are few, spread over lines, or longer items.
    EXPECT_FALSE(fetches(1, 31, 4099, in_cache, shuffle));
    EXPECT_FALSE(fetches(1, 64, 4096 + 16, in_cache, shuffle));
    EXPECT_FALSE(fetches(1, 64, 9, in_cache, shuffle));
    EXPECT_FALSE(fetches(2, 31, 2 * 2049, in_cache, shuffle));
    EXPECT_FALSE(fetches(2, 64, 2 * 5461, in_cache, shuffle));
    EXPECT_FALSE(fetches(4, 15, 4 * 1025, in_cache, shuffle));
    EXPECT_FALSE(fetches(4, 16, 4 * 1027, in_cache, shuffle));
    EXPECT_FALSE(fetches(8, 16, 8 * 513, in_cache, shuffle));
    EXPECT_FALSE(fetches(1, 64, 4099, 1 << 30, shuffle));
  }
  // Of a first cache with more ways more find places.
  const ByteCopy copy{4, {{64, 4, 4000}, {64, 4 * 1025, 4}}};
  EXPECT_FALSE(PlanBlocks(copy, {}, 1 << 20, {.l1 = 64 << 10}).fetch);
}

TEST(CrowdedTest, ColumnsThatLieNearlyAWayApartAreJoinedInScratchWithLookups) {
  const auto stages = [](int64_t item, int64_t num_a, int64_t num_b,
                         int64_t shuffle = 256) {
    return PlanBlocks(Matrix(item, num_a, num_b), {}, 1 << 20,
                      {.shuffle = shuffle})
        .stage;
  };
  for (const int64_t item : {1, 2, 4, 8}) {
    SCOPED_TRACE(item);
    const int64_t way = 4096 / item;
    EXPECT_TRUE(stages(item, way + 1, 100));
    EXPECT_TRUE(stages(item, 2 * way - 1, 100));
    EXPECT_FALSE(stages(item, way + 1, 100, 64));
    EXPECT_FALSE(stages(item, way, 100)) << "columns are lines";
    EXPECT_FALSE(stages(item, way + 64 / item, 100)) << "and spread";
    EXPECT_FALSE(stages(item, way + 96 / item, 100)) << "they spread";
  }
  // Of a first cache with few ways 16 bytes would crowd as well.
  EXPECT_FALSE(PlanBlocks(Matrix(16, 257, 100), {}, 1 << 20,
                          {.l1 = 16 << 10, .shuffle = 256})
                   .stage);
  EXPECT_TRUE(stages(4, 1025, 13));
  EXPECT_FALSE(stages(4, 1025, 12));
}

TEST(CrowdedTest, WhatIsJoinedInScratchFitsIt) {
  for (const int64_t item : {1, 2, 4, 8})
    for (const int64_t column : {2731, 4096, 8192, 12288, 7 * 4096})
      for (int64_t num_b = 40; num_b < 3000; num_b = num_b * 5 / 4) {
        if (column % item != 0) continue;
        const int64_t num_a = column / item + (column % 4096 == 0);
        const BlockPlan plan = PlanBlocks(Matrix(item, num_a, num_b), {},
                                          1 << 20, {.shuffle = 256});
        const int64_t column = RoundUpToLine(plan.a.block * item) + kLineBytes;
        ASSERT_TRUE(plan.stage);
        EXPECT_LE(kLineBytes + plan.batch_block * plan.b.block * column,
                  kStageBytes)
            << item << ' ' << num_a << ' ' << num_b;
      }
}

TEST(CrowdedTest, EachItemGoesWhereItBelongs) {
  const GuardedBuffer src(2 << 20), dst(2 << 20);
  Random random(37);
  EveryTarget target;
  int64_t fetched = 0, joined = 0;
  for (int64_t i = 0; i < 240; ++i) {
    target.Use(static_cast<size_t>(i));
    const int64_t item = int64_t{1} << random.In(0, 3);
    const int64_t near = random.In(1, 3) * (4096 / item) + random.In(-2, 2);
    const int64_t other = random.In(13, (2 << 20) / item / near);
    const bool rows = random.OneIn(2);
    const int64_t num_a = rows ? std::min<int64_t>(other, 300) : near;
    const int64_t num_b = rows ? near : std::min<int64_t>(other, 300);
    const int64_t bytes = num_a * num_b * item;
    Machine machine = ThisMachine();
    machine.shuffle = 256;  // plans are to be the same whatever the target
    const BlockPlan plan =
        PlanBlocks(Matrix(item, num_a, num_b), {}, 1 << 20, machine);
    fetched += plan.fetch;
    joined += plan.stage;
    ASSERT_TRUE(testing::MovesAsExpected(
        random, src, bytes, dst, bytes,
        [&](const std::byte* from, std::byte* to) {
          MoveBlocks(plan, Bytes(from), Bytes(from) + bytes, Bytes(to));
        },
        [&](const std::byte* from, std::byte* to) {
          for (int64_t a = 0; a < num_a; ++a)
            for (int64_t b = 0; b < num_b; ++b)
              std::memcpy(to + (b * num_a + a) * item,
                          from + (a * num_b + b) * item,
                          static_cast<size_t>(item));
        }))
        << item << ' ' << num_a << ' ' << num_b;
  }
  EXPECT_GE(fetched, 40);
  EXPECT_GE(joined, 40);
}

}  // namespace
}  // namespace axis
