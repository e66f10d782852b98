// Claims about tiles: what is interleaved or taken apart a few short rows or
// columns at a time is looked up as a whole, and moved to the byte.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/copy/block.h"
#include "kernels/copy/digits/digits.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/plan/block_plan.h"
#include "kernels/copy/plan/walk.h"
#include "tests/kernels/copy_checker.h"
#include "tests/kernels/random_copy.h"

namespace axis {
namespace {

using testing::Bytes;
using testing::EveryTarget;
using testing::GuardedBuffer;
using testing::Random;

constexpr Machine kLooksUp{.shuffle = 256};

// `few` rows of `many` items interleaved, or as many columns taken apart; 10
// of them next to one another on the side that is not packed, 3 times.
ByteCopy Tiles(int64_t item, int64_t few, int64_t many, bool interleaves) {
  const int64_t run = many * item, tile = few * run;
  const int64_t row = 10 * run + item, line = few * row;
  if (interleaves)
    return {item,
            {{3, line, tile},
             {10, run, 3 * tile + item},
             {many, item, few * item},
             {few, row, item}}};
  return {item,
          {{3, tile, line},
           {10, 3 * tile + item, run},
           {few, item, row},
           {many, few * item, item}}};
}

BlockPlan PlanOf(const ByteCopy& copy, int64_t total_bytes = 1 << 19,
                 const Machine& machine = kLooksUp) {
  return PlanBlocks(copy, {}, total_bytes, machine);
}

TEST(TilesTest, AreAtLeast48BytesOfRowsBelowALine) {
  for (const bool interleaves : {true, false}) {
    SCOPED_TRACE(interleaves);
    auto are_tiles = [=](int64_t item, int64_t few, int64_t many) {
      const BlockPlan plan = PlanOf(Tiles(item, few, many, interleaves));
      EXPECT_TRUE(!plan.tiles ||
                  plan.kernel == (interleaves ? Kernel::kInterleave
                                              : Kernel::kDeinterleave));
      return plan.tiles;
    };
    EXPECT_FALSE(are_tiles(1, 2, 23));
    EXPECT_TRUE(are_tiles(1, 2, 24));
    EXPECT_FALSE(are_tiles(1, 3, 15));
    EXPECT_TRUE(are_tiles(1, 3, 16));
    EXPECT_TRUE(are_tiles(4, 3, 15));
    EXPECT_FALSE(are_tiles(4, 3, 16));  // a line
    EXPECT_TRUE(are_tiles(8, 3, 7));
    EXPECT_FALSE(are_tiles(16, 3, 3));
    // Digits are faster where four of them are made of pieces.
    EXPECT_FALSE(are_tiles(1, 4, 19));
    EXPECT_TRUE(are_tiles(1, 4, 20));
    EXPECT_FALSE(are_tiles(2, 4, 16));
    EXPECT_TRUE(are_tiles(2, 4, 17));
    EXPECT_FALSE(are_tiles(1, 5, 20));
    // Nothing is looked up.
    EXPECT_FALSE(
        PlanOf(Tiles(4, 3, 7, interleaves), 1 << 19, {.shuffle = 64}).tiles);
  }
}

TEST(TilesTest, AreNotMovedByDigits) {
  // Little enough for those.
  BlockPlan plan = PlanOf(Tiles(4, 2, 8, true));
  ASSERT_TRUE(plan.tiles);
  EXPECT_FALSE(AreTooSmall(plan, kLooksUp));
  EXPECT_EQ(WindowsFor(plan, kLooksUp), Wanted::kNone);
  plan.tiles = false;
  EXPECT_TRUE(AreTooSmall(plan, kLooksUp));
  EXPECT_NE(WindowsFor(plan, kLooksUp), Wanted::kNone);
}

TEST(TilesTest, WholeLinesAreStreamedInstead) {
  constexpr int64_t kPast = 1 << 30;
  EXPECT_TRUE(PlanOf(Tiles(2, 2, 16, true)).tiles);
  EXPECT_FALSE(PlanOf(Tiles(2, 2, 16, true), kPast).tiles);
  EXPECT_TRUE(PlanOf(Tiles(2, 2, 17, true), kPast).tiles);
  EXPECT_TRUE(PlanOf(Tiles(2, 2, 16, false), kPast).tiles);
}

// Tiles of all kinds, repeated along up to three loops with gaps or without.
ByteCopy RandomTiles(Random& random) {
  const int64_t item = int64_t{1} << random.In(0, 3);
  const int64_t few = random.In(2, 4), longest = 63 / item;
  const int64_t many = random.In((48 / few + item - 1) / item, longest);
  const int64_t run = many * item, tile = few * run;
  const int64_t row = run * random.In(1, 30) + random.In(0, 3) * item;
  int64_t at = few * row, packed = tile + random.In(0, 1) * item;
  const bool interleaves = random.OneIn(2);
  ByteCopy copy{item, {}};
  auto add = [&](int64_t extent, int64_t apart, int64_t together) {
    copy.loops.insert(copy.loops.begin(), interleaves
                                              ? Loop{extent, apart, together}
                                              : Loop{extent, together, apart});
  };
  add(few, row, item);
  add(many, item, few * item);
  if (row / run > 1) {
    const int64_t times = row / run;
    add(times, run, packed);
    packed *= times;
  }
  for (int64_t loops = random.In(0, 2); loops > 0; --loops) {
    const int64_t times = random.In(2, 5);
    packed += random.In(0, 2) * item;
    add(times, at, packed);
    at *= times, packed *= times;
  }
  return copy;
}

TEST(TilesTest, AreMovedToTheByte) {
  const GuardedBuffer src(2 << 20), dst(2 << 20);
  Random random(29);
  EveryTarget target;
  std::array<int64_t, 2> tiles = {};
  for (int64_t i = 0; i < 6000; ++i) {
    target.Use(static_cast<size_t>(i));
    const ByteCopy copy = RandomTiles(random);
    // However little the operation is said to be, blocks are not cut.
    const BlockPlan plan = PlanOf(copy, random.OneIn(2) ? 1 : 1 << 19);
    if (!plan.tiles) continue;  // rows follow one another
    ++tiles[plan.kernel == Kernel::kInterleave ? 0 : 1];
    ASSERT_TRUE(testing::MovesLike(random, src, dst, copy, plan))
        << "plan " << i << ": " << plan.a.extent << " x " << plan.b.extent
        << " items of " << plan.item;
  }
  EXPECT_GE(tiles[0], 1000);
  EXPECT_GE(tiles[1], 1000);
}

// Columns that go to several destinations, as those of a split do.
TEST(TilesTest, ColumnsOfASplitAreMovedToTheByte) {
  const GuardedBuffer src(1 << 20), dst(1 << 20);
  Random random(31);
  EveryTarget target;
  for (int64_t i = 0; i < 600; ++i) {
    target.Use(static_cast<size_t>(i));
    const int64_t few = random.In(2, 3), many = random.In(24, 63);
    const int64_t times = random.In(2, 40);
    std::vector<int64_t> columns = {0};
    while (columns.size() < static_cast<size_t>(few))
      columns.push_back(columns.back() + times * 64 + random.In(0, 90));
    const int64_t src_bytes = times * many * few;
    const int64_t dst_bytes = columns.back() + times * 64;
    const ByteCopy copy{1, {{times, many * few, 64}, {many, few, 1}}};
    const BlockPlan plan = PlanBlocks(copy, columns, 1 << 19, kLooksUp);
    ASSERT_TRUE(plan.tiles);
    ASSERT_TRUE(testing::MovesAsExpected(
        random, src, src_bytes, dst, dst_bytes,
        [&](const std::byte* from, std::byte* to) {
          MoveBlocks(plan, Bytes(from), Bytes(from) + src_bytes, Bytes(to));
        },
        [&](const std::byte* from, std::byte* to) {
          for (int64_t b = 0; b < few; ++b)
            testing::MoveItems(copy, from + b,
                               to + columns[static_cast<size_t>(b)]);
        }))
        << few << " columns of " << many;
  }
}

// The blocks of `plan`, found one way or the other.
std::vector<Block> BlocksOf(const BlockPlan& plan, bool alike) {
  static uint8_t memory[1];
  std::array<int64_t, kMaxOffsets> rows, columns;
  BlockWalk walk(plan, false, memory, memory, memory, rows.data(),
                 columns.data());
  EXPECT_TRUE(walk.AreAlike());
  std::vector<Block> blocks;
  Block block;
  for (bool more = walk.Next(block); more;
       more = alike ? walk.NextAlike(block) : walk.Next(block))
    blocks.push_back(block);
  return blocks;
}

TEST(TilesTest, BlocksThatAreAlikeAreThoseFoundAnew) {
  const BlockPlan plan = PlanOf({2,
                                 {{3, 4000, 9000},
                                  {5, 700, 1500},
                                  {9, 36, 108},
                                  {18, 2, 6},
                                  {3, 20000, 2}}});
  ASSERT_EQ(plan.outer.size(), 2u);
  const std::vector<Block> alike = BlocksOf(plan, true);
  const std::vector<Block> anew = BlocksOf(plan, false);
  ASSERT_EQ(alike.size(), 15u);
  ASSERT_EQ(anew.size(), 15u);
  for (size_t i = 0; i < alike.size(); ++i) {
    EXPECT_EQ(alike[i].src, anew[i].src) << i;
    EXPECT_EQ(alike[i].dst, anew[i].dst) << i;
    EXPECT_EQ(alike[i].num_a, anew[i].num_a);
    EXPECT_EQ(alike[i].batch.extent, anew[i].batch.extent);
  }
  // Those that are cut are not.
  BlockPlan cut = plan;
  cut.b.block = plan.b.extent - 1;
  std::array<int64_t, kMaxOffsets> rows, columns;
  EXPECT_FALSE(BlockWalk(cut, false, nullptr, nullptr, nullptr, rows.data(),
                         columns.data())
                   .AreAlike());
  cut = plan;
  cut.batch_block = plan.batch.extent - 1;
  EXPECT_FALSE(BlockWalk(cut, false, nullptr, nullptr, nullptr, rows.data(),
                         columns.data())
                   .AreAlike());
}

}  // namespace
}  // namespace axis
