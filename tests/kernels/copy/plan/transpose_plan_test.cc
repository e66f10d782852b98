// Claims of kernels/copy/plan/transpose/transpose_plan.h: how rows that compete
// for the first cache are transposed, and rows that are shorter than a vector;
// where the CPU looks up (Machine::shuffle), and where it does not.
#include <gtest/gtest.h>

#include "kernels/copy/machine.h"
#include "kernels/copy/plan/block_plan.h"

namespace axis {
namespace {

TEST(TransposePlanTest, RowsThatCompeteAreReadToScratchOrFewAtATime) {
  const auto plan = [](int64_t item, int64_t num_a, int64_t row, int64_t column,
                       int64_t total_bytes, int64_t shuffle = 64) {
    const ByteCopy copy{item, {{64, item, column}, {num_a, row, item}}};
    return PlanBlocks(copy, {}, total_bytes,
                      {.l2 = 512 << 10, .shuffle = shuffle});
  };
  const int64_t in_l2 = 500 << 10, in_l3 = 4 << 20, in_memory = 1 << 30;
  // Of small items, as many as find no places; of bytes also half of that
  // apart, if they are twice as many.
  EXPECT_TRUE(plan(1, 16, 4096, 1000, in_l2).fetch);
  EXPECT_FALSE(plan(1, 15, 4096, 1000, in_l2).fetch);
  EXPECT_TRUE(plan(1, 15, 4096, 1000, in_l3).fetch);
  EXPECT_TRUE(plan(1, 32, 2048, 1000, in_l2).fetch);
  EXPECT_TRUE(plan(1, 32, 6144, 1000, in_l3).fetch);
  EXPECT_FALSE(plan(1, 31, 6144, 1000, in_l3).fetch);
  EXPECT_FALSE(plan(1, 32, 1024, 1000, in_l3).fetch);
  EXPECT_TRUE(plan(2, 16, 4096, 1000, in_l2).fetch);
  EXPECT_FALSE(plan(2, 32, 2048, 1000, in_l2).fetch);
  // Of four bytes only if columns wait for each other, and in cache.
  for (const int64_t total : {in_l2, in_l3}) {
    EXPECT_TRUE(plan(4, 16, 8 * 4096, 512, total).fetch);
    EXPECT_FALSE(plan(4, 16, 8 * 4096, 512, total).few_rows);
    EXPECT_FALSE(plan(4, 16, 8 * 4096, 576, total).fetch);
    EXPECT_TRUE(plan(4, 16, 8 * 4096, 576, total).few_rows);
  }
  EXPECT_FALSE(plan(4, 16, 8 * 4096, 512, in_memory).fetch);
  EXPECT_TRUE(plan(4, 16, 8 * 4096, 512, in_memory).few_rows);
  EXPECT_FALSE(plan(4, 15, 4096, 576, in_l2).few_rows);
  EXPECT_FALSE(plan(4, 16, 4096 + 64, 576, in_memory).few_rows);
  EXPECT_FALSE(plan(8, 16, 4096, 576, in_memory).few_rows);
  // Where the CPU looks up nothing but bytes and pairs that are no squares.
  EXPECT_TRUE(plan(2, 16, 4096, 1000, in_l2, 256).fetch);
  EXPECT_TRUE(plan(2, 31, 4096, 1000, in_l3, 256).fetch);
  EXPECT_FALSE(plan(2, 15, 4096, 1000, in_l3, 256).fetch);
  EXPECT_FALSE(plan(2, 31, 4096 + 2048, 1000, in_l3, 256).fetch);
  EXPECT_TRUE(plan(2, 32, 4096, 1000, in_memory, 256).fetch);
  EXPECT_TRUE(plan(1, 17, 4 * 4096, 1000, in_l2, 256).fetch);
  EXPECT_FALSE(plan(1, 16, 4 * 4096, 1000, in_l2, 256).fetch);
  const ByteCopy wide{1, {{1024, 1, 1000}, {40, 4096, 1}}};
  const Machine looks_up{.shuffle = 256};
  EXPECT_EQ(PlanBlocks(wide, {}, in_l2, looks_up).b.block, 256);
  EXPECT_EQ(PlanBlocks(wide, {}, in_l3, looks_up).b.block, 512);
  EXPECT_FALSE(plan(1, 64, 4 * 4096 + 1024, 1000, in_l2, 256).fetch);
  EXPECT_TRUE(plan(1, 16, 4 * 4096, 1000, in_l3, 256).fetch);
  EXPECT_TRUE(plan(1, 32, 4 * 4096 + 2048, 1000, in_l3, 256).fetch);
  EXPECT_FALSE(plan(1, 31, 4 * 4096 + 2048, 1000, in_l3, 256).fetch);
  // Of few rows squares leave too much, or what competes.
  EXPECT_TRUE(plan(1, 64 + 33, 2048, 1000, in_l2, 256).fetch);
  EXPECT_FALSE(plan(1, 64 + 32, 2048, 1000, in_l2, 256).fetch);
  EXPECT_FALSE(plan(1, 512 + 33, 2048, 1000, in_l2, 256).fetch);
  EXPECT_TRUE(plan(1, 64 + 1, 4096, 1000, in_l2, 256).fetch);
  EXPECT_FALSE(plan(1, 64, 4096, 1000, in_l2, 256).fetch);
  EXPECT_FALSE(plan(2, 64, 4 * 4096, 1000, in_l3, 256).fetch);
  EXPECT_FALSE(plan(4, 64, 4096, 576, in_l3, 256).few_rows);
}

TEST(TransposePlanTest, SquaresPastAFarL3UnlessRowsOfSmallItemsCompeteThere) {
  const auto squares = [](int64_t item, int64_t row) {
    const ByteCopy copy{item, {{row / item, item, 5000}, {2500, row, item}}};
    return PlanBlocks(copy, {}, 1 << 30, {.l2 = 2 << 20, .shuffle = 256})
               .squares != Square::kNone;
  };
  for (const int64_t item : {1, 2}) {
    EXPECT_TRUE(squares(item, 3 * 4096));
    EXPECT_FALSE(squares(item, 4 * 4096));
    EXPECT_FALSE(squares(item, 12 * 4096));
  }
  EXPECT_TRUE(squares(4, 4 * 4096));
}

TEST(TransposePlanTest, ShortRowsAreTakenApartOrReadOneAfterTheOther) {
  // (16, num_a, num_b) by 2, 0, 1, or with `gap` items behind each column.
  const auto plan = [](int64_t item, int64_t num_a, int64_t num_b, int64_t gap,
                       int64_t shuffle = 64, int64_t total_bytes = 1 << 20) {
    const int64_t run = num_a * item;
    const ByteCopy copy{item,
                        {{num_b, item, 16 * (run + gap)},
                         {16, num_b * run, run + gap},
                         {num_a, num_b * item, item}}};
    return PlanBlocks(copy, {}, total_bytes, {.shuffle = shuffle});
  };
  const auto apart = [&](int64_t item, int64_t num_a, int64_t num_b) {
    return plan(item, num_a, num_b, 8).kernel == Kernel::kDeinterleave;
  };
  // Columns of a piece are enough where rows are shorter than that.
  EXPECT_TRUE(apart(1, 16, 2));
  EXPECT_TRUE(apart(1, 16, 4));
  EXPECT_FALSE(apart(1, 15, 4));
  EXPECT_FALSE(apart(1, 16, 5));
  EXPECT_TRUE(apart(2, 8, 4));
  EXPECT_TRUE(apart(4, 4, 3));
  EXPECT_FALSE(apart(4, 4, 4));
  EXPECT_TRUE(apart(8, 2, 2));
  EXPECT_FALSE(apart(8, 2, 3));
  EXPECT_FALSE(apart(16, 1, 2));
  // Where the CPU looks up, of bytes, in the second cache.
  const int64_t in_l2 = 1000 << 10, in_memory = 1 << 30;
  EXPECT_EQ(plan(1, 16, 4, 8, 256, in_l2).kernel, Kernel::kDeinterleave);
  EXPECT_NE(plan(1, 16, 4, 8, 256).kernel, Kernel::kDeinterleave);
  EXPECT_NE(plan(2, 8, 4, 8, 256, in_l2).kernel, Kernel::kDeinterleave);
  // Blocks of both sides of two are few items, if little repeats them.
  for (const int64_t times : {7, 8}) {
    const ByteCopy copy{8, {{2, 8, times * 16}, {times, 32, 16}, {2, 16, 8}}};
    EXPECT_EQ(PlanBlocks(copy, {}, 1 << 20, {.shuffle = 64}).kernel,
              times == 8 ? Kernel::kDeinterleave : Kernel::kTranspose);
  }
  // Else columns do not take in what follows, for then rows lie anywhere.
  const auto extent = [](int64_t item, int64_t num_a, int64_t num_b,
                         int64_t shuffle = 64, int64_t total_bytes = 1 << 20) {
    const int64_t row = (num_b + 1) * item;
    const ByteCopy copy{item,
                        {{num_b, item, 16 * num_a * item},
                         {16, num_a * row + 8, num_a * item},
                         {num_a, row, item}}};
    return PlanBlocks(copy, {}, total_bytes, {.shuffle = shuffle}).a.extent;
  };
  EXPECT_EQ(extent(1, 16, 7), 16);
  EXPECT_GT(extent(1, 15, 7), 15);
  EXPECT_EQ(extent(2, 8, 7), 8);
  EXPECT_GT(extent(2, 8, 8), 8);
  // Where the CPU looks up, only in cache, if they are longer.
  EXPECT_EQ(extent(1, 32, 7, 256), 32);
  EXPECT_GT(extent(1, 31, 7, 256), 31);
  EXPECT_GT(extent(1, 32, 7, 256, in_memory), 32);
  // Columns that follow one another go through registers together.
  const auto packed = [](int64_t item, int64_t num_a) {
    const int64_t run = num_a * item;
    const ByteCopy copy{
        item,
        {{64, 3 * run, 3 * run}, {3, item, run}, {num_a, 3 * item, item}}};
    return PlanBlocks(copy, {}, 1 << 20, {.shuffle = 64}).kernel;
  };
  EXPECT_EQ(packed(1, 24), Kernel::kDeinterleave);
  EXPECT_EQ(packed(2, 12), Kernel::kTranspose);
}

TEST(TransposePlanTest, ShortRowsTakeInWhatColumnsCould) {
  // u8 (24, 96, 3, num_b) by 3, 0, 2, 1.
  const auto plan = [](int64_t num_b) {
    const ByteCopy copy{1,
                        {{num_b, 1, 24 * 3 * 96},
                         {24, 96 * 3 * num_b, 3 * 96},
                         {3, num_b, 96},
                         {96, 3 * num_b, 1}}};
    return PlanBlocks(copy, {}, 1 << 20, {.shuffle = 64});
  };
  EXPECT_EQ(plan(2).a.extent, 96);
  EXPECT_EQ(plan(2).b.extent, 6);
  EXPECT_EQ(plan(15).b.extent, 45);
  EXPECT_EQ(plan(16).a.extent, 288);
}

TEST(TransposePlanTest, ShortColumnsAreShuffledEvenIfFewFollowEachOther) {
  // Matrices of num_a x 3 items, `runs` at a time, times 10 x 10.
  const auto kernel = [](int64_t item, int64_t num_a, int64_t runs) {
    const int64_t run = 3 * num_a * item;
    const ByteCopy copy{item,
                        {{10, runs * run, 10 * runs * run},
                         {10, 10 * runs * run, runs * run},
                         {runs, run, run},
                         {3, item, num_a * item},
                         {num_a, 3 * item, item}}};
    return PlanBlocks(copy, {}, 1 << 20, {.shuffle = 64}).kernel;
  };
  EXPECT_EQ(kernel(2, 7, 4), Kernel::kShuffle);  // 168 bytes
  EXPECT_NE(kernel(2, 7, 3), Kernel::kShuffle);  // 126
  EXPECT_NE(kernel(2, 8, 4), Kernel::kShuffle);
  EXPECT_EQ(kernel(2, 8, 11), Kernel::kShuffle);  // 528
}

TEST(TransposePlanTest, RepetitionsOfShortRowsAndColumnsAreMovedAsOne) {
  // `times` x 3 matrices of num_a x num_b, which are one along side A, or B.
  const auto plan = [](int64_t item, int64_t num_a, int64_t num_b,
                       int64_t times, bool first, int64_t gap = 0) {
    const int64_t run = num_a * item, piece = num_b * item;
    const int64_t row = first ? piece + gap : times * piece;
    const int64_t column = first ? times * run : run + gap;
    const int64_t chunk = first ? num_a * row : num_b * column;
    const ByteCopy copy{
        item,
        {{times, first ? 3 * chunk : piece, first ? run : 3 * chunk},
         {num_b, item, column},
         {num_a, row, item}}};
    return PlanBlocks(copy, {}, 1 << 20, {.shuffle = 64});
  };
  const auto together = [&](auto... args) { return plan(args...).together; };
  // Of more than four rows or columns up to a line, else half of one.
  EXPECT_EQ(together(1, 63, 15, 100, true), Together::kFirst);
  EXPECT_EQ(together(1, 64, 15, 100, true), Together::kNone);
  EXPECT_EQ(together(1, 63, 16, 100, true), Together::kNone);
  EXPECT_EQ(together(1, 15, 31, 100, false), Together::kLast);
  EXPECT_EQ(together(1, 15, 32, 100, false), Together::kNone);
  EXPECT_EQ(together(1, 16, 31, 100, false), Together::kNone);
  EXPECT_EQ(together(1, 3, 31, 100, false), Together::kLast);
  // What is taken apart as it is needs no scratch.
  EXPECT_EQ(together(1, 15, 3, 100, true), Together::kFirst);
  EXPECT_EQ(together(1, 16, 3, 100, true), Together::kNone);
  // If they come to two lines, or six, and have no gaps on the other side.
  EXPECT_EQ(together(2, 4, 3, 16, true), Together::kFirst);
  EXPECT_EQ(together(2, 4, 3, 15, true), Together::kNone);
  EXPECT_EQ(together(2, 4, 3, 16, true, 2), Together::kNone);
  EXPECT_EQ(together(1, 8, 3, 8, true), Together::kFirst);
  EXPECT_EQ(together(1, 8, 3, 7, true), Together::kNone);
  EXPECT_EQ(together(2, 3, 4, 48, false), Together::kLast);
  EXPECT_EQ(together(2, 3, 4, 47, false), Together::kNone);
  EXPECT_EQ(together(2, 3, 4, 48, false, 2), Together::kNone);
  // Rows whose gaps are filled by what continues them: u8 (40, 5, 6, 2, 3) by
  // 4, 1, 3, 0, 2.
  const ByteCopy gaps{
      1, {{3, 1, 2400}, {5, 36, 480}, {2, 3, 240}, {40, 180, 6}, {6, 6, 1}}};
  const BlockPlan filled = PlanBlocks(gaps, {}, 1 << 20, {.shuffle = 64});
  EXPECT_EQ(filled.together, Together::kFirst);
  EXPECT_EQ(filled.b.extent, 6);
  // Whole vectors of few; of others no more than can be told apart.
  EXPECT_EQ(plan(2, 4, 3, 16, true).kernel, Kernel::kDeinterleave);
  EXPECT_EQ(plan(2, 3, 4, 48, false).kernel, Kernel::kInterleave);
  EXPECT_EQ(plan(2, 3, 5, 1000, true).kernel, Kernel::kTranspose);
  EXPECT_EQ(plan(2, 3, 5, 1000, true).batch_block, 334);  // of 341
  EXPECT_EQ(plan(2, 3, 4, 1000, true).batch_block, 500);  // of 682
}

TEST(TransposePlanTest, FewColumnsAreSweptIfTheyAreLongWithoutLookups) {
  // Of matrices without gaps, past the caches: else they go through scratch.
  const auto swept = [](int64_t item, int64_t num_a, int64_t num_b) {
    const ByteCopy copy{item,
                        {{1000, num_a * num_b * item, num_a * num_b * item},
                         {num_b, item, num_a * item},
                         {num_a, num_b * item, item}}};
    const BlockPlan plan =
        PlanBlocks(copy, {}, int64_t{1} << 30, {.shuffle = 64});
    EXPECT_EQ(plan.stream, plan.stage);
    return !plan.stage;
  };
  EXPECT_TRUE(swept(4, 513, 9));
  EXPECT_FALSE(swept(4, 511, 9));
  EXPECT_TRUE(swept(1, 1025, 9));
  EXPECT_FALSE(swept(1, 1023, 9));
  EXPECT_TRUE(swept(4, 513, 16));
  EXPECT_FALSE(swept(4, 513, 17));
  // Rows of less than 16 bytes, or of fewer than 8 of them.
  EXPECT_FALSE(swept(2, 700, 8));
  EXPECT_TRUE(swept(2, 700, 7));
  EXPECT_FALSE(swept(1, 700, 8));
  EXPECT_TRUE(swept(1, 700, 7));
}

}  // namespace
}  // namespace axis
