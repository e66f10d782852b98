// Claims of kernels/copy/plan/rows.h and of kernels/copy/partition/columns.h:
// how items that registers do not transpose are cut into blocks, streamed and
// taken apart; and when those are streamed that vectors interleave.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/copy/machine.h"
#include "kernels/copy/partition/columns.h"
#include "kernels/copy/plan/block_plan.h"
#include "kernels/copy/plan/rows.h"

namespace axis {
namespace {

constexpr Machine kLooksUp = {.shuffle = 256}, kDoesNot = {.shuffle = 64};

TEST(RowsPlanTest, ColumnsOfTilesPastTheCachesAreCutEvenly) {
  // 29 columns of `num_a` items each, of rows without gaps, 400 times.
  const auto block = [](int64_t item, int64_t num_a) {
    const ByteCopy copy{item,
                        {{400, num_a * 29 * item, num_a * 29 * item},
                         {29, item, num_a * item},
                         {num_a, 29 * item, item}}};
    const int64_t plans[] = {
        PlanBlocks(copy, {}, int64_t{1} << 30, kLooksUp).a.block,
        PlanBlocks(copy, {}, int64_t{1} << 30, kDoesNot).a.block};
    EXPECT_EQ(plans[0], plans[1]);
    return plans[0];
  };
  // Whole up to twice 2 KiB; then in equal parts of 2 KiB at most, unless a
  // rest does not show.
  EXPECT_EQ(block(10, 225), 225);
  EXPECT_EQ(block(10, 409), 409);
  EXPECT_EQ(block(10, 410), 137);
  EXPECT_EQ(block(20, 225), 75);
  EXPECT_EQ(block(20, 900), 102);
}

TEST(RowsPlanTest, ItemsThatAreLookedUpTogetherAreStreamedSooner) {
  // The first three bytes of every `step`.
  const auto streams = [](int64_t step, int64_t total_bytes,
                          const Machine& machine) {
    const BlockPlan plan = PlanBlocks({3, {{total_bytes / step, step, 3}}}, {},
                                      total_bytes, machine);
    EXPECT_EQ(plan.kernel, Kernel::kCompact);
    EXPECT_EQ(plan.stream, plan.stage);
    EXPECT_EQ(plan.realigns, plan.stream && machine.LooksUp() && step <= 48);
    return plan.stream;
  };
  EXPECT_TRUE(streams(7, 8 << 20, kLooksUp));
  EXPECT_FALSE(streams(7, (8 << 20) - 1, kLooksUp));
  // So far apart, most of what is looked up is thrown away.
  EXPECT_FALSE(streams(49, (16 << 20) - 1, kLooksUp));
  EXPECT_TRUE(streams(49, 16 << 20, kLooksUp));
  // Two workers, and a last cache that is far away.
  const Machine far = {
      .l2 = 2 << 20, .l3 = 64 << 20, .shuffle = 256, .workers = 2};
  EXPECT_TRUE(streams(7, 16 << 20, far));
  EXPECT_FALSE(streams(7, (16 << 20) - 1, far));
  // By way of scratch it would take longer.
  EXPECT_FALSE(streams(7, 1 << 30, kDoesNot));
}

TEST(RowsPlanTest, RunsInTheCachesAreForeseenWithoutLookups) {
  // f32 (64, 48, 700) by 1, 0, 2.
  const auto plan = [](int64_t total_bytes, const Machine& machine) {
    const ByteCopy copy{2800, {{48, 2800, 64 * 2800}, {64, 48 * 2800, 2800}}};
    return PlanBlocks(copy, {}, total_bytes, machine);
  };
  const Machine two_look_up = {.shuffle = 256, .workers = 2};
  const Machine two_do_not = {.shuffle = 64, .workers = 2};
  for (const int64_t mib : {7, 8}) {
    EXPECT_FALSE(plan(mib << 20, two_look_up).stream);
    EXPECT_EQ(plan(mib << 20, two_look_up).lead, mib < 8 ? 0 : kMaxOffsets);
    EXPECT_EQ(plan(mib << 20, kDoesNot).lead, 0);
    EXPECT_EQ(plan(mib << 20, two_do_not).lead, 0);
  }
  EXPECT_FALSE(plan(12 << 20, two_do_not).stream);
  EXPECT_EQ(plan(12 << 20, two_do_not).lead, 0);
  // Past them all ask for two.
  EXPECT_EQ(plan(32 << 20, two_look_up).lead, 2);
  EXPECT_EQ(plan(32 << 20, kDoesNot).lead, 2);
}

TEST(RowsPlanTest, FewStreamsGoThroughTheCachesWithoutLookups) {
  // `num_a` rows of `num_b` items each that change sides, past the caches.
  const auto staged = [](int64_t item, int64_t num_a, int64_t num_b,
                         const Machine& machine) {
    const ByteCopy copy{item,
                        {{400, num_a * num_b * item, num_a * num_b * item},
                         {num_b, item, num_a * item},
                         {num_a, num_b * item, item}}};
    const BlockPlan plan = PlanBlocks(copy, {}, int64_t{1} << 30, machine);
    EXPECT_EQ(plan.kernel, Kernel::kRows);
    EXPECT_EQ(plan.stream, plan.stage);
    return plan.stage;
  };
  EXPECT_FALSE(staged(100, 12, 123, kDoesNot));
  EXPECT_TRUE(staged(100, 13, 123, kDoesNot));
  EXPECT_TRUE(staged(100, 12, 122, kDoesNot));  // 12 KiB
  EXPECT_TRUE(staged(100, 12, 123, kLooksUp));
  // Equal outputs of a split.
  const auto split = [](int64_t item, int64_t count, const Machine& machine) {
    std::vector<int64_t> columns;
    for (int64_t i = 1; i < count; ++i) columns.push_back(i << 24);
    const ByteCopy copy{item, {{100000, count * item, item}}};
    return PlanBlocks(copy, columns, int64_t{1} << 30, machine);
  };
  for (const int64_t item : {12, 20, 100, 400}) {
    EXPECT_FALSE(split(item, 3, kDoesNot).stage);
    EXPECT_FALSE(split(item, 3, kDoesNot).stream);
    EXPECT_TRUE(split(item, 3, kLooksUp).stage);
  }
}

TEST(RowsPlanTest, LongRowsThatSeveralWorkersInterleaveAreStreamedLater) {
  // Of how many MiB on three rows or columns of `num` f32 are streamed.
  const auto from = [](Kernel kernel, int64_t num, const Machine& machine) {
    const bool rows = kernel == Kernel::kInterleave;
    const Loop many{num, rows ? 4 : 12, rows ? 12 : 4};
    const Loop few{3, rows ? 4 * num : 4, rows ? 4 : 4 * num};
    const ByteCopy copy{4, {{400, 12 * num, 12 * num}, many, few}};
    for (int64_t mebibytes = 1;; ++mebibytes) {
      const BlockPlan plan = PlanBlocks(copy, {}, mebibytes << 20, machine);
      EXPECT_EQ(plan.kernel, kernel);
      if (plan.stream || mebibytes == 32) return mebibytes;
    }
  };
  const Machine two = {.shuffle = 64, .workers = 2};
  for (const Kernel kernel : {Kernel::kInterleave, Kernel::kDeinterleave}) {
    EXPECT_EQ(from(kernel, 1008, two), 11);
    EXPECT_EQ(from(kernel, 1024, two), 13);  // 4 KiB
    const Machine looks_up = {.shuffle = 256, .workers = 2};
    EXPECT_EQ(from(kernel, 1024, looks_up), 16);
  }
}

TEST(RowsPlanTest, LongColumnsThatWouldBePaddedAreTakenApartByLookups) {
  // Of a split into `count` columns of as many bytes.
  const auto joined = [](int64_t item, int64_t count, int64_t bytes) {
    std::vector<uint8_t> memory(static_cast<size_t>(bytes));
    std::vector<Move> moves;
    for (int64_t i = 0; i < count; ++i)
      moves.push_back({{item, {{bytes / item, count * item, item}}},
                       memory.data() + i * item,
                       memory.data(),
                       {}});
    Columns columns;
    return static_cast<int64_t>(JoinColumns(moves, columns).size());
  };
  const bool apart = ThisMachine().LooksUp();
  for (const int64_t item : {3, 5, 6, 7})
    for (const int64_t count : {2, 3, 4})
      EXPECT_EQ(joined(item, count, 8400), apart ? count : 1);
  EXPECT_EQ(joined(3, 2, 8190), 1);  // not worth a plan each
  EXPECT_EQ(joined(3, 5, 8400), 1);
  EXPECT_EQ(joined(4, 2, 8400), 1);  // registers do it
  EXPECT_EQ(joined(9, 2, 8400), 1);
}

TEST(RowsPlanTest, TilesFindTheLinesOfTheirRows) {
  // (200, row / item, item) by 1, 0, 2 of items that only move.
  const auto plan = [](int64_t item, int64_t row, int64_t total_bytes,
                       int64_t shuffle = 64) {
    const ByteCopy copy{item,
                        {{row / item, item, 200 * item}, {200, row, item}}};
    return PlanBlocks(copy, {}, total_bytes, {.shuffle = shuffle});
  };
  const int64_t in_cache = 1 << 20, in_memory = 1 << 30;
  // A first cache of 32 KiB has 8 places for lines 4 KiB apart, 64 for those
  // 512 bytes apart.
  EXPECT_EQ(plan(12, 3 * 4096, in_cache).a.block, 8);
  EXPECT_EQ(plan(24, 3 * 2048, in_cache).a.block, 16);
  EXPECT_EQ(plan(10, 15 * 512, in_cache).a.block, 64);
  EXPECT_EQ(plan(10, 15 * 256, in_cache).a.block, 200);
  EXPECT_EQ(plan(96, 3 * 4096, 1 << 18).a.block, 42);  // whole lines: 4 KiB
  EXPECT_EQ(plan(35, 35 * 4096, in_cache, 256).a.block, 8);
  EXPECT_EQ(plan(12, 4096, in_cache).a.block, 8);
  const ByteCopy narrow{12, {{21, 12, 2400}, {200, 4096, 12}}};
  EXPECT_EQ(PlanBlocks(narrow, {}, in_cache, {.shuffle = 64}).a.block, 200);
  // Pixels are transposed a few rows at a time.
  EXPECT_EQ(plan(3, 3 * 4096, in_cache).a.block, 200);
  EXPECT_EQ(plan(6, 3 * 4096, in_cache).a.block, 200);
  EXPECT_EQ(plan(7, 7 * 4096, in_cache).a.block, 200);
  EXPECT_EQ(plan(9, 9 * 4096, in_cache).a.block, 8);
  EXPECT_FALSE(plan(12, 3 * 4096, in_cache).fetch);
  // Past the caches they are read to scratch first.
  EXPECT_TRUE(plan(12, 3 * 4096, in_memory).fetch);
  EXPECT_TRUE(plan(3, 3 * 1024, in_memory).fetch);
  EXPECT_EQ(plan(3, 3 * 1024, in_memory).b.block, 84);  // of 256 bytes
  EXPECT_FALSE(plan(3, 3 * 512, in_memory).fetch);
  EXPECT_FALSE(plan(3, 3 * 4096, in_memory, 256).fetch);
  EXPECT_TRUE(plan(33, 33 * 2048, in_memory, 256).fetch);
  EXPECT_FALSE(plan(33, 33 * 1024, in_memory, 256).fetch);
}

}  // namespace
}  // namespace axis
