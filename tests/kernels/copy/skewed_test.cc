// Claims of kernels/copy/narrow/: rows that begin inside bytes (shift.h) and
// matrices of such rows (skewed.h) are moved to the bit, and what shares a byte
// with them stays as it is; matrices of whole bytes are squares (squares.h).
#include "kernels/copy/narrow/skewed.h"

#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/copy/narrow/bits/shift.h"
#include "kernels/copy/narrow/squares.h"
#include "kernels/plan.h"
#include "kernels/view.h"
#include "tests/kernels/copy_checker.h"
#include "tests/kernels/random_copy.h"

namespace axis {
namespace {

using testing::Bytes;
using testing::Checker;
using testing::NarrowElement;
using testing::OnEveryTarget;
using testing::Random;
using testing::Reach;

const std::vector<int64_t> kWidths = {1, 2, 4};

// Makes element `index` of `data` what it is to be.
void Set(int64_t bits, int64_t index, unsigned value, std::byte* data) {
  const NarrowElement element(bits, index);
  std::byte zeros[1] = {};
  const int64_t byte = index * bits / 8, place = index % (8 / bits);
  NarrowElement(bits, place).Put(zeros, (1u << bits) - 1);
  data[byte] &= ~zeros[0];
  element.Put(data, value);
}

TEST(ShiftRows, ToTheBitWhereverTheyBegin) {
  const testing::GuardedBuffer src(1 << 16), dst(1 << 16);
  OnEveryTarget(20000, [&](Random& random, Checker&) {
    const int64_t bits = random.Of(kWidths);
    const int64_t most = random.OneIn(4) ? 1200 : 80;
    ShiftedRows rows{};
    rows.items = random.In(1, most);
    rows.count = random.In(1, 5);
    rows.from = random.In(0, 9), rows.to = random.In(0, 9);
    rows.src_stride = random.In(0, 2 * most);
    rows.dst_stride = rows.items + random.In(0, 20);
    const auto bytes = [&](int64_t first, int64_t stride) {
      const int64_t end = first + (rows.count - 1) * stride + rows.items;
      return (end * bits + 7) / 8;
    };
    EXPECT_TRUE(testing::MovesAsExpected(
        random, src, bytes(rows.from, rows.src_stride), dst,
        bytes(rows.to, rows.dst_stride),
        [&](const std::byte* from, std::byte* to) {
          ShiftRows(bits, rows, Bytes(from), Bytes(to));
        },
        [&](const std::byte* from, std::byte* to) {
          for (int64_t r = 0; r < rows.count; ++r)
            for (int64_t i = 0; i < rows.items; ++i)
              Set(bits, rows.to + r * rows.dst_stride + i,
                  NarrowElement(bits, rows.from + r * rows.src_stride + i)
                      .Get(from),
                  to);
        }))
        << rows.count << " rows of " << rows.items << " of " << bits
        << " bits from " << rows.from << " to " << rows.to;
  });
}

// The copy of `src` to dense memory, as MoveNarrow() sees it.
std::vector<Loop> LoopsOf(const View& src, int64_t bits) {
  const Plan plan = *CompilePlan(src, Dense(ShapeOf(src)), bits);
  std::vector<Loop> loops(plan.loops.begin(), plan.loops.end());
  for (Loop& loop : loops) loop.src_stride /= bits, loop.dst_stride /= bits;
  if (plan.run > bits) loops.push_back({plan.run / bits, 1, 1});
  return loops;
}

std::optional<Sides> SkewedOf(const View& src, int64_t bits) {
  return FindSkewed(bits, LoopsOf(src, bits));
}

std::optional<Sides> SquaresOf(const View& src, int64_t bits) {
  return FindSquares(bits, LoopsOf(src, bits), 0, 0);
}

// Odd sides, so that every row begins elsewhere in a byte, and any.
int64_t Side(Random& random, int64_t least, int64_t most) {
  const int64_t side = random.In(least, most);
  return random.OneIn(4) ? side : side | 1;
}

TEST(Skewed, MatricesAreTransposed) {
  // Several workers, however many CPUs there are.
  const tbb::global_control allowed(
      tbb::global_control::max_allowed_parallelism, 4);
  OnEveryTarget(60, [](Random& random, Checker& checker) {
    const int64_t bits = random.Of(kWidths);
    const int64_t rows = Side(random, 64, random.OneIn(2) ? 2300 : 300);
    const int64_t least = std::max<int64_t>(64, (48 << 10) / bits / rows + 1);
    const int64_t columns =
        Side(random, least, least + (random.OneIn(4) ? 2000 : 300));
    const int64_t gap = random.OneIn(2) ? 0 : random.In(1, 20);
    const Shape shape = {Side(random, 1, 2), rows, columns + gap};
    std::vector<int64_t> order = {0, 2, 1};
    if (random.OneIn(4)) order = {2, 0, 1};
    View src =
        Permute(*Slice(Dense(shape), 2, random.In(0, gap), columns), order);
    ASSERT_TRUE(SkewedOf(src, bits));
    EXPECT_FALSE(SkewedOf(src, bits)->are_rows());
    tbb::task_arena(random.OneIn(2) ? 1 : 4).execute([&] {
      checker.Check({src}, {Dense(ShapeOf(src))}, bits, Reach(Dense(shape)));
    });
  });
}

TEST(Skewed, RowsChangePlaces) {
  OnEveryTarget(400, [](Random& random, Checker& checker) {
    const int64_t bits = random.Of(kWidths);
    const Shape shape = {random.In(2, 9), random.In(2, 9), random.In(2, 9),
                         Side(random, 96, random.OneIn(4) ? 1200 : 140)};
    View src = Permute(Dense(shape), std::vector<int64_t>{2, 0, 1, 3});
    if (random.OneIn(2)) {
      const int64_t keep = random.In(96, shape[3]);
      src = *Slice(src, 3, random.In(0, shape[3] - keep), keep);
    }
    ASSERT_TRUE(SkewedOf(src, bits));
    EXPECT_TRUE(SkewedOf(src, bits)->are_rows());
    checker.Check({src}, {Dense(ShapeOf(src))}, bits, Reach(Dense(shape)));
  });
}

TEST(Skewed, NothingElseIs) {
  const std::vector<int64_t> turned = {1, 0};
  for (const int64_t bits : kWidths) {
    // Sides, and matrices, that are too small; rows that are too short.
    EXPECT_FALSE(SkewedOf(Permute(Dense(Shape{63, 2001}), turned), bits));
    EXPECT_FALSE(SkewedOf(Permute(Dense(Shape{2001, 63}), turned), bits));
    const int64_t side = bits == 4 ? 110 : bits == 2 ? 156 : 221;
    EXPECT_FALSE(SkewedOf(Permute(Dense(Shape{side, side}), turned), bits));
    EXPECT_TRUE(
        SkewedOf(Permute(Dense(Shape{side + 1, side + 1}), turned), bits));
    EXPECT_FALSE(SkewedOf(
        Permute(Dense(Shape{20, 30, 95}), std::vector<int64_t>{1, 0, 2}),
        bits));
  }
  // Groups of three bytes.
  for (const int64_t bits : {3, 6})
    EXPECT_FALSE(SkewedOf(Permute(Dense(Shape{501, 503}), turned), bits));
}

TEST(Squares, AreOfRowsThatFillVectors) {
  const std::vector<int64_t> turned = {1, 0};
  for (const int64_t bits : kWidths) {
    const int64_t items = 8 / bits, least = (bits == 4 ? 8 : 4) * items;
    for (const int64_t rows : {int64_t{16}, int64_t{512}}) {
      const auto is = [&](int64_t columns) {
        return SquaresOf(Permute(Dense(Shape{rows, columns}), turned), bits)
            .has_value();
      };
      EXPECT_TRUE(is(least));
      EXPECT_FALSE(is(least - items));
      EXPECT_FALSE(is(least + 1));
    }
  }
}

TEST(Squares, SmallOnesGoTogetherUnlessTooFewDo) {
  const std::vector<int64_t> turned = {1, 0, 3, 2};
  for (const int64_t bits : kWidths) {
    const auto are = [&](int64_t some, int64_t several) {
      return SquaresOf(Permute(Dense(Shape{some, several, 16, 64}), turned),
                       bits)
          .has_value();
    };
    EXPECT_TRUE(are(4, 3));
    EXPECT_TRUE(are(3, 4));
    EXPECT_FALSE(are(3, 3));
    EXPECT_TRUE(are(1, 2));  // nothing else to go through
    // The longest of all loops, wherever it is.
    EXPECT_TRUE(SquaresOf(Permute(Dense(Shape{2, 5, 2, 16, 64}),
                                  std::vector<int64_t>{2, 1, 0, 4, 3}),
                          bits));
  }
}

// What a worker moves is small, what it is a part of need not be: then it goes
// past the caches.
TEST(Squares, ArePartsOfCopiesOfAnySize) {
  const testing::GuardedBuffer src(1 << 18), dst(1 << 18);
  OnEveryTarget(100, [&](Random& random, Checker&) {
    const int64_t bits = random.Of(kWidths), items = 8 / bits;
    const int64_t rows = items * random.In(1, random.OneIn(4) ? 130 : 40);
    const int64_t columns = items * random.In(8, 200);
    const int64_t bytes = rows * columns / items;
    const int64_t total = random.OneIn(2) ? bytes : int64_t{1} << 30;
    EXPECT_TRUE(testing::MovesAsExpected(
        random, src, bytes, dst, bytes,
        [&](const std::byte* from, std::byte* to) {
          const Sides matrix = {{rows, columns, 1}, {columns, 1, rows}, {}};
          MoveSquares(bits, matrix, total, Bytes(from), 0, Bytes(to), 0);
        },
        [&](const std::byte* from, std::byte* to) {
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < columns; ++c)
              Set(bits, c * rows + r,
                  NarrowElement(bits, r * columns + c).Get(from), to);
        }))
        << rows << " x " << columns << " of " << bits << " bits, of " << total;
  });
}

TEST(Squares, ManyMatricesAreTransposed) {
  OnEveryTarget(150, [](Random& random, Checker& checker) {
    const int64_t bits = random.Of(kWidths), items = 8 / bits;
    const int64_t rows = items * random.In(1, random.OneIn(4) ? 70 : 9);
    const int64_t columns = items * random.In(8, random.OneIn(4) ? 70 : 17);
    const Shape shape = {random.In(1, 3), random.In(1, 60), rows, columns};
    // In the order of the source, and in another one.
    std::vector<int64_t> order = {0, 1, 3, 2};
    if (random.OneIn(3)) order = {1, 0, 3, 2};
    if (random.OneIn(3)) order = {3, 1, 0, 2};
    View src = Permute(Dense(shape), order);
    if (random.OneIn(4)) src = *Slice(src, 1, 0, (ShapeOf(src)[1] + 1) / 2);
    checker.Check({src}, {Dense(ShapeOf(src))}, bits, Reach(Dense(shape)));
  });
}

}  // namespace
}  // namespace axis
