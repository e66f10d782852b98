// Claims of kernels/copy/partition/part.h: what is kept of the parts a thread
// had lately, and that none is taken for another.
#include "kernels/copy/partition/part.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "kernels/copy/machine.h"
#include "tests/kernels/copy_checker.h"

namespace axis {
namespace {

using testing::EveryTarget;

// What an operation writes; twice as much is still for one worker.
constexpr int64_t kTotal = 1 << 16;

// The transposition of a matrix.
ByteCopy Matrix(int64_t item, int64_t rows, int64_t columns) {
  ByteCopy copy{item,
                {{columns, item, rows * item}, {rows, columns * item, item}}};
  Canonicalize(copy);
  return copy;
}

// Whether the part that is kept for it moves each item of Matrix(`item`,
// `rows`, `columns`) to its place.
bool MovesMatrix(int64_t item, int64_t rows, int64_t columns) {
  const auto bytes = static_cast<size_t>(rows * columns * item);
  std::vector<uint8_t> src(bytes), dst(bytes), expected(bytes);
  for (size_t i = 0; i < bytes; ++i) src[i] = static_cast<uint8_t>(i * 7 / 3);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      std::memcpy(expected.data() + (c * rows + r) * item,
                  src.data() + (r * columns + c) * item,
                  static_cast<size_t>(item));
  RecentPart(Matrix(item, rows, columns), kTotal)
      .Move(src.data(), src.data() + bytes, dst.data());
  return dst == expected;
}

TEST(PartTest, IsKeptForTheSameCopy) {
  const Part* const part = &RecentPart(Matrix(4, 40, 30), kTotal);
  EXPECT_EQ(&RecentPart(Matrix(4, 40, 30), kTotal), part);
  EXPECT_NE(&RecentPart(Matrix(4, 30, 40), kTotal), part);
  EXPECT_NE(&RecentPart(Matrix(2, 40, 30), kTotal), part);
  EXPECT_EQ(&RecentPart(Matrix(4, 40, 30), kTotal), part);
}

TEST(PartTest, DependsOnWhatTheWholeOperationWrites) {
  const Part* const part = &RecentPart(Matrix(4, 41, 31), kTotal);
  EXPECT_NE(&RecentPart(Matrix(4, 41, 31), 2 * kTotal), part);
}

TEST(PartTest, DependsOnTheInstructions) {
  EveryTarget targets;
  Machine last_machine = ThisMachine();
  const Part* last = nullptr;
  for (size_t t = 0; t < 2 * targets.size(); ++t) {
    targets.Use(t);
    // Bytes that are looked up, and items that vectors transpose.
    EXPECT_TRUE(MovesMatrix(1, 61, 3)) << t;
    EXPECT_TRUE(MovesMatrix(4, 43, 33)) << t;
    const Machine machine = ThisMachine();
    const Part* const part = &RecentPart(Matrix(1, 61, 3), kTotal);
    if (last != nullptr && machine != last_machine) EXPECT_NE(part, last) << t;
    last_machine = machine;
    last = part;
  }
}

TEST(PartTest, OfMoreThanAreKeptEachStillMovesWhatIsItsOwn) {
  for (int round = 0; round < 3; ++round)
    for (int64_t rows = 5; rows < 5 + 20; ++rows)
      EXPECT_TRUE(MovesMatrix(4, rows, 37)) << rows;
}

TEST(PartTest, EachThreadHasItsOwn) {
  const Part* const part = &RecentPart(Matrix(8, 20, 30), kTotal);
  const Part* other = nullptr;
  std::thread([&] {
    other = &RecentPart(Matrix(8, 20, 30), kTotal);
    EXPECT_TRUE(MovesMatrix(8, 20, 30));
  }).join();
  EXPECT_NE(other, part);
  EXPECT_TRUE(MovesMatrix(8, 20, 30));
}

}  // namespace
}  // namespace axis
