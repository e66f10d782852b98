// Claims of kernels/copy/plan/rows.h: which tiles are moved in the order of
// their source, and that each of their items goes where it belongs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "kernels/copy/block.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/plan/block_plan.h"
#include "tests/kernels/copy_checker.h"
#include "tests/kernels/random_copy.h"

namespace axis {
namespace {

using testing::Bytes;
using testing::EveryTarget;
using testing::GuardedBuffer;
using testing::Random;

// (t, r, c, b) items to (t, b, c, r): rows are counted by r and c, and lie
// `gap` bytes apart in the source.
struct Tiles {
  int64_t item, b, r, c = 1, t = 1, gap = 0;

  int64_t row() const { return b * item + gap; }
  int64_t src_bytes() const { return t * r * c * row(); }
  int64_t dst_bytes() const { return t * r * c * b * item; }

  BlockPlan PlanFor(int64_t total_bytes, const Machine& machine) const {
    ByteCopy copy{item,
                  {{t, r * c * row(), r * c * b * item},
                   {b, item, r * c * item},
                   {c, row(), r * item},
                   {r, c * row(), item}}};
    Canonicalize(copy);
    return PlanBlocks(copy, {}, total_bytes, machine);
  }

  void Expect(const std::byte* src, std::byte* dst) const {
    for (int64_t i = 0; i < t; ++i)
      for (int64_t j = 0; j < b; ++j)
        for (int64_t k = 0; k < c; ++k)
          for (int64_t l = 0; l < r; ++l)
            std::memcpy(dst + (((i * b + j) * c + k) * r + l) * item,
                        src + ((i * r + l) * c + k) * row() + j * item,
                        static_cast<size_t>(item));
  }
};

// Tells whether tiles go by rows where so long runs are looked up.
auto GoesByRows(int64_t shuffle) {
  return [=](const Tiles& tiles, int64_t total_bytes = 1 << 20) {
    return tiles.PlanFor(total_bytes, {.l2 = 512 << 10, .shuffle = shuffle})
        .by_rows;
  };
}

TEST(ByRowsTest, TilesAreOnceTheSecondCacheDoesNotHoldBothSides) {
  const auto goes_by_rows = GoesByRows(64);
  const Tiles tiles = {.item = 48, .b = 12, .r = 100};
  EXPECT_TRUE(goes_by_rows(tiles));
  EXPECT_TRUE(goes_by_rows(tiles, 256 << 10));
  EXPECT_FALSE(goes_by_rows(tiles, (256 << 10) - 1));
  EXPECT_FALSE(goes_by_rows(tiles, int64_t{1} << 30)) << "is streamed";
  // Shorter ones are written beyond their end.
  EXPECT_TRUE(goes_by_rows({.item = 32, .b = 12, .r = 100}));
  EXPECT_FALSE(goes_by_rows({.item = 31, .b = 12, .r = 100}));
  // Few rows are foreseen.
  EXPECT_TRUE(goes_by_rows({.item = 48, .b = 12, .r = 9}));
  EXPECT_FALSE(goes_by_rows({.item = 48, .b = 12, .r = 8}));
  EXPECT_TRUE(goes_by_rows({.item = 48, .b = 160, .r = 10}));
  EXPECT_FALSE(goes_by_rows({.item = 48, .b = 161, .r = 10}));
  // Columns that compete.
  EXPECT_TRUE(goes_by_rows({.item = 64, .b = 12, .r = 80}));
  EXPECT_FALSE(goes_by_rows({.item = 64, .b = 12, .r = 96}));
  EXPECT_TRUE(goes_by_rows({.item = 256, .b = 12, .r = 96}));
}

TEST(ByRowsTest, WithLookupsOnlyWhereColumnsLeaveEachOtherTheirPlaces) {
  const auto goes_by_rows = GoesByRows(256);
  const Tiles tiles = {.item = 48, .b = 12, .r = 128};
  EXPECT_TRUE(goes_by_rows(tiles));
  EXPECT_TRUE(goes_by_rows(tiles, 256 << 10));
  EXPECT_FALSE(goes_by_rows(tiles, (256 << 10) - 1));
  EXPECT_FALSE(goes_by_rows(tiles, int64_t{1} << 30)) << "is streamed";
  // Shorter than lines, of many rows only.
  EXPECT_FALSE(goes_by_rows({.item = 48, .b = 12, .r = 127}));
  EXPECT_TRUE(goes_by_rows({.item = 36, .b = 12, .r = 128}));
  EXPECT_FALSE(goes_by_rows({.item = 35, .b = 12, .r = 128}));
  // Longer ones, unless columns hardly go on.
  EXPECT_TRUE(goes_by_rows({.item = 64, .b = 36, .r = 9}));
  EXPECT_FALSE(goes_by_rows({.item = 64, .b = 32, .r = 8}));
  EXPECT_FALSE(goes_by_rows({.item = 64, .b = 37, .r = 9}));
  EXPECT_FALSE(goes_by_rows({.item = 255, .b = 37, .r = 9}));
  EXPECT_TRUE(goes_by_rows({.item = 256, .b = 37, .r = 9}));
  // 16 places for columns of 6 KiB, 32 of 3 KiB, 64 of 2.5 KiB.
  EXPECT_TRUE(goes_by_rows({.item = 64, .b = 16, .r = 96}));
  EXPECT_FALSE(goes_by_rows({.item = 64, .b = 17, .r = 96}));
  EXPECT_FALSE(goes_by_rows({.item = 64, .b = 100, .r = 48}));
  EXPECT_TRUE(goes_by_rows({.item = 64, .b = 100, .r = 40}));
  EXPECT_FALSE(goes_by_rows({.item = 256, .b = 17, .r = 24}));
}

TEST(ByRowsTest, EachItemGoesWhereItBelongs) {
  const GuardedBuffer src(4 << 20), dst(4 << 20);
  Random random(31);
  EveryTarget target;
  int64_t by_rows = 0, of_two_loops = 0;
  for (int64_t i = 0; i < 400; ++i) {
    target.Use(static_cast<size_t>(i));
    Tiles tiles = {.item = random.In(32, random.OneIn(2) ? 100 : 511),
                   .b = random.In(2, random.OneIn(4) ? 300 : 20),
                   .r = random.In(2, 40)};
    if (random.OneIn(2)) tiles.c = random.In(2, 12);
    if (random.OneIn(2)) tiles.gap = random.In(1, 200);
    const int64_t bytes = tiles.src_bytes();
    tiles.t = random.In(1, std::clamp<int64_t>((4 << 20) / bytes, 1, 3));
    if (tiles.src_bytes() > 4 << 20) continue;
    Machine machine = ThisMachine();
    machine.shuffle = 64;  // plans are to be the same whatever the target
    const BlockPlan plan = tiles.PlanFor(2 << 20, machine);
    by_rows += plan.by_rows;
    of_two_loops += plan.by_rows && plan.a.num_loops == 2;
    ASSERT_TRUE(testing::MovesAsExpected(
        random, src, tiles.src_bytes(), dst, tiles.dst_bytes(),
        [&](const std::byte* from, std::byte* to) {
          MoveBlocks(plan, Bytes(from), Bytes(from) + tiles.src_bytes(),
                     Bytes(to));
        },
        [&](const std::byte* from, std::byte* to) { tiles.Expect(from, to); }))
        << "plan " << i << ": " << tiles.t << " x " << tiles.r << " x "
        << tiles.c << " x " << tiles.b << " items of " << tiles.item
        << ", rows " << tiles.row();
  }
  EXPECT_GE(by_rows, 100);
  EXPECT_GE(of_two_loops, 40);
}

}  // namespace
}  // namespace axis
