// Claims of kernels/copy.h: what random plans say is what is moved, by every
// instruction set, at every width, and nothing beside it is touched.
#include "kernels/copy.h"

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

#include "kernels/plan.h"
#include "kernels/view.h"
#include "tests/kernels/copy_checker.h"
#include "tests/kernels/random_copy.h"

namespace axis {
namespace {

using testing::Checker;
using testing::EveryTarget;
using testing::OnEveryTarget;
using testing::Random;
using testing::RandomLayout;
using testing::RandomShape;
using testing::RandomView;
using testing::Reach;

int64_t CountFromEnvironment(int64_t otherwise) {
  const char* count = std::getenv("AXIS_COPY_PLANS");
  return count == nullptr ? otherwise : std::atoll(count);
}

constexpr int64_t kElements = 6000;

TEST(CopyTest, MovesWhatRandomPlansSay) {
  static const std::vector<int64_t> kWidths = {8, 16, 32, 64, 128, 24, 48, 256};
  OnEveryTarget(CountFromEnvironment(20000), [](Random& random,
                                                Checker& checker) {
    const int64_t bits = random.Of(kWidths);
    const Shape shape =
        RandomShape(random, random.OneIn(8) ? kElements : kElements / 10);
    if (random.OneIn(2)) {
      const View src = RandomView(random, shape);
      checker.Check({src}, {Dense(ShapeOf(src))}, bits, Reach(Dense(shape)));
    } else {
      const View src = RandomLayout(random, shape);
      checker.Check({src}, {RandomLayout(random, shape)}, bits, Reach(src));
    }
  });
}

// What kernels for few, short or many small rows are for.
TEST(CopyTest, TransposesSmallMatrices) {
  static const std::vector<int64_t> kWidths = {8, 16, 32, 64};
  OnEveryTarget(
      CountFromEnvironment(20000) / 4, [](Random& random, Checker& checker) {
        const bool many = random.OneIn(2);
        Shape shape = {random.In(1, many ? 100 : 3), random.In(2, 9),
                       random.In(2, many ? 20 : 300)};
        if (random.OneIn(2)) std::swap(shape[1], shape[2]);
        const View src = Permute(Dense(shape), std::vector<int64_t>{0, 2, 1});
        checker.Check({src}, {Dense(ShapeOf(src))}, random.Of(kWidths),
                      Reach(Dense(shape)));
      });
}

// Channels that change places within blocks which have padding.
TEST(CopyTest, PermutesShortRunsThatHaveGapsBetweenThem) {
  static const std::vector<int64_t> kWidths = {8, 16, 32, 64};
  OnEveryTarget(
      CountFromEnvironment(20000) / 4, [](Random& random, Checker& checker) {
        const int64_t bits = random.Of(kWidths), most = 256 * 8 / bits;
        const int64_t rows = random.In(2, 9);
        const int64_t columns = random.In(2, std::max<int64_t>(2, most / rows));
        const int64_t run = rows * columns, count = random.In(1, 200);
        auto pitch = [&] { return run + random.In(0, 20); };
        View src = Dense(Shape{count, columns, rows}), dst = src;
        src.modes = {{count, pitch()}, {columns, 1}, {rows, columns}};
        dst.modes = {{count, pitch()}, {columns, rows}, {rows, 1}};
        checker.Check({src}, {dst}, bits, Reach(src));
      });
}

TEST(CopyTest, TakesEveryChannelOfBlocksToItsPlace) {
  const testing::GuardedBuffer src(4 << 20), dst(4 << 20);
  OnEveryTarget(CountFromEnvironment(20000) / 4, [&](Random& random, Checker&) {
    const int64_t channels = random.In(1, random.OneIn(4) ? 200 : 40);
    testing::CheckPlaces(random, src, dst, channels, random.In(1, 3),
                         random.In(1, 5),
                         random.In(1, random.OneIn(4) ? 40 : 7));
  });
}

// In several tasks, and past the caches.
TEST(CopyTest, TakesEveryChannelOfLargeTensorsToItsPlace) {
  const testing::GuardedBuffer src(80 << 20), dst(80 << 20);
  OnEveryTarget(24, [&](Random& random, Checker&) {
    tbb::task_arena(random.OneIn(2) ? 1 : 4).execute([&] {
      testing::CheckPlaces(random, src, dst, random.In(1, 60), random.In(1, 3),
                           random.In(50, 150), random.In(50, 150));
    });
  });
}

TEST(CopyTest, MovesNarrowElementsAtEveryPhase) {
  static const std::vector<int64_t> kWidths = {1, 2, 4, 3, 6};
  OnEveryTarget(
      CountFromEnvironment(20000) / 4, [](Random& random, Checker& checker) {
        const Shape shape = RandomShape(
            random, random.OneIn(8) ? kElements * 4 : kElements / 5);
        const View src = random.OneIn(2) ? RandomView(random, shape)
                                         : RandomLayout(random, shape);
        checker.Check({src}, {Dense(ShapeOf(src))}, random.Of(kWidths),
                      std::max(Reach(src), Reach(Dense(shape))));
      });
}

// As what comes in a stream may; what is left of the last byte is zero.
TEST(CopyTest, MovesARunOfBytesToTheMiddleOfOne) {
  const std::array<std::byte, 2> src = {std::byte{0x21}, std::byte{0x43}};
  std::array<std::byte, 3> dst;
  dst.fill(std::byte{0xff});
  Plan plan;
  plan.item_bits = 4;
  plan.dst_offset = 4;
  plan.run = 16;
  const Target target = {&plan, dst.data()};
  const std::span<const std::byte> piece = src;
  Copy({&piece, 1}, {&target, 1}, nullptr);
  const std::array<std::byte, 3> expected = {std::byte{0x1f}, std::byte{0x32},
                                             std::byte{0x04}};
  EXPECT_EQ(dst, expected);
}

TEST(CopyTest, ReadsTheSourceOfASplitForAllItsTargets) {
  static const std::vector<int64_t> kWidths = {8, 16, 32, 64, 128, 24, 4, 1, 6};
  OnEveryTarget(CountFromEnvironment(20000) / 4, [](Random& random,
                                                    Checker& checker) {
    const Shape shape = RandomShape(random, kElements);
    const size_t axis = static_cast<size_t>(
        random.In(0, static_cast<int64_t>(shape.size()) - 1));
    std::vector<View> src, dst;
    const std::vector<int64_t> order = random.Order(shape.size());
    const bool permute = random.OneIn(4), singles = random.OneIn(3);
    for (int64_t at = 0; at < shape[axis] && src.size() < Checker::kTargets;) {
      const int64_t extent =
          singles ? 1 : random.In(1, std::min<int64_t>(shape[axis] - at, 9));
      View piece = *Slice(Dense(shape), axis, at, extent);
      if (permute) piece = Permute(piece, order);
      src.push_back(piece);
      dst.push_back(Dense(ShapeOf(piece)));
      at += extent;
    }
    checker.Check(src, dst, random.Of(kWidths), Reach(Dense(shape)));
  });
}

// Large enough for tasks, for stores past the caches, and for both at once.
TEST(CopyTest, MovesLargeTensors) {
  struct Case {
    Shape shape;
    std::vector<int64_t> order;
    int64_t bits;
  };
  const std::vector<Case> cases = {
      {{1031, 3, 257}, {0, 2, 1}, 32},
      {{3, 517, 1027}, {1, 2, 0}, 64},
      {{2048, 1024}, {1, 0}, 64},
      {{1024, 1024}, {1, 0}, 32},
      {{1027, 1053}, {1, 0}, 128},
      {{2053, 1100}, {1, 0}, 32},
      {{2048, 2048}, {1, 0}, 32},
      {{4, 3077, 1031}, {0, 2, 1}, 16},
      {{5123, 4096}, {1, 0}, 8},
      {{24, 20, 14, 22, 17}, {4, 3, 2, 1, 0}, 64},
      {{100, 7, 200, 25}, {2, 0, 1, 3}, 32},
      {{3000017, 3}, {1, 0}, 32},
      {{300, 2, 5003}, {0, 2, 1}, 32},
      {{40013, 13, 5}, {0, 2, 1}, 32},
      {{32, 3, 64, 512}, {0, 2, 3, 1}, 32},
      {{3, 3000017}, {1, 0}, 32},
      {{1000003, 10}, {1, 0}, 16},
      {{112, 17280, 4}, {2, 1, 0}, 16},
      {{32, 64, 2, 2, 16, 32}, {0, 1, 4, 2, 5, 3}, 32},
      {{24000007}, {0}, 8},
      {{2, 64, 3, 512, 32}, {0, 3, 2, 1, 4}, 16},
      {{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2},
       {18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0},
       64},
      {{1001, 1503}, {1, 0}, 4},
      {{6, 1032, 72}, {2, 0, 1}, 4},
      {{3, 1100, 5, 260}, {3, 0, 2, 1}, 2},
      {{8, 136, 1048}, {0, 2, 1}, 1},
      {{1024, 2048}, {1, 0}, 1},
      {{1001, 2001}, {1, 0}, 3},
      {{512, 9, 333}, {2, 0, 1}, 6}};
  Checker checker(48 << 20);
  EveryTarget target;
  size_t i = 0;
  for (const Case& c : cases)
    for (int workers : {1, 4}) {
      target.Use(i++);
      const View src = Permute(Dense(c.shape), c.order);
      tbb::task_arena(workers).execute([&] {
        checker.Check({src}, {Dense(ShapeOf(src))}, c.bits,
                      SizeOf(Dense(c.shape)));
      });
      if (HasFailure()) return;
    }
}

TEST(CopyTest, SplitsLargeTensors) {
  struct Case {
    Shape shape;
    size_t axis;
    std::vector<int64_t> lengths;
    int64_t bits;
  };
  const std::vector<Case> cases = {{{4096, 2304}, 1, {768, 768, 768}, 32},
                                   {{1000003, 3}, 1, {1, 1, 1}, 8},
                                   {{100003, 7}, 1, {1, 2, 4}, 32},
                                   {{65537, 6}, 1, {1, 1, 1, 1, 1, 1}, 32},
                                   {{64, 1000, 85}, 2, {4, 1, 80}, 32},
                                   {{4001, 1024}, 0, {1000, 1001, 2000}, 16},
                                   {{32, 116, 28, 28}, 1, {58, 58}, 32},
                                   {{10240, 9}, 1, {4, 5}, 4}};
  Checker checker(40 << 20);
  EveryTarget target;
  size_t i = 0;
  for (const Case& c : cases)
    for (int workers : {1, 4}) {
      target.Use(i++);
      std::vector<View> src, dst;
      int64_t at = 0;
      for (int64_t length : c.lengths) {
        src.push_back(*Slice(Dense(c.shape), c.axis, at, length));
        dst.push_back(Dense(ShapeOf(src.back())));
        at += length;
      }
      tbb::task_arena(workers).execute(
          [&] { checker.Check(src, dst, c.bits, SizeOf(Dense(c.shape))); });
      if (HasFailure()) return;
    }
}

// Each instruction set interleaves, and transposes squares, in its own way, and
// only to results that start at a line.
TEST(CopyTest, TransposesLargeTensorsAtLines) {
  const std::vector<std::pair<Shape, int64_t>> cases = {
      {{1024, 1024}, 8},     {{1001, 1024}, 16},   {{3008, 5001}, 8},
      {{704, 16384}, 8},     {{2080, 3000}, 16},   {{256, 1024}, 32},
      {{2064, 2053}, 32},    {{512, 1032}, 64},    {{1040, 1251}, 64},
      {{516, 1021}, 128},    {{2053, 1031}, 32},   {{6, 32, 16, 1024}, 32},
      {{3, 1050003}, 32},    {{4100, 3, 256}, 32}, {{40, 4, 40019}, 16},
      {{4300, 2, 1472}, 8},  {{1440000, 3}, 32},   {{30, 70400, 2}, 32},
      {{10, 210048, 4}, 16}, {{62, 3, 65600}, 8},  {{90, 65536, 3}, 8},
      {{2, 270336, 4}, 64},  {{13000, 4, 60}, 32}, {{5000, 4, 232}, 16},
      {{9500, 4, 240}, 8},   {{5000, 4, 62}, 64}};
  Checker checker(17 << 20);
  checker.PlaceAtLines();
  EveryTarget target;
  auto check = [&](const Shape& shape, size_t axis, int64_t bits) {
    for (size_t i = 0; i < target.size() && !HasFailure(); ++i) {
      target.Use(i);
      const View src = Swap(Dense(shape), axis);
      // Several workers would get more out of the caches.
      tbb::task_arena(1).execute([&] {
        checker.Check({src}, {Dense(ShapeOf(src))}, bits, SizeOf(Dense(shape)));
      });
    }
  };
  for (const auto& [shape, bits] : cases) check(shape, shape.size() - 2, bits);
  // Items that are lines.
  for (int64_t lines : {1, 2}) check({300, 700 / lines, 16 * lines}, 0, 32);
}

TEST(CopyTest, EmptyPlansTouchNothing) {
  const Plan plan = CompilePlan(Dense(Shape{3, 0}), 32);
  const Target target = {&plan, nullptr};
  EXPECT_EQ(Copy({}, {&target, 1}), 0);
}

}  // namespace
}  // namespace axis
