// Claims of kernels/copy/block/spill-inl.h: columns of a vector or less are
// moved to the byte wherever they go, whatever lies between them stays as it
// is, and nothing is read beyond the source.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

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

// Matrices of few rows, transposed: item (a, b, c) of repetition t lies
//   at  t * src_batch + a * row + (c * num_b + b) * item
//   in the source, and in the destination
//   at  t * dst_batch + c * group + b * column + a * item.
struct Columns {
  int64_t item, num_a, num_b, groups, repetitions;
  int64_t row, src_batch, column, group, dst_batch;

  explicit Columns(Random& random) {
    item = int64_t{1} << random.In(0, 3);
    num_a = random.In(2, 32 / item);
    num_b = random.In(2, random.OneIn(4) ? 700 : 20);
    groups = random.OneIn(2) ? 1 : random.In(2, random.OneIn(4) ? 90 : 9);
    repetitions = random.OneIn(4) ? 1 : random.In(2, 40);
    const auto gap = [&] {
      return random.OneIn(2) ? 0 : random.In(1, 40) * item;
    };
    row = groups * num_b * item + gap();
    src_batch = num_a * row + gap();
    // Repetitions may overlap in the source, as do those of a split.
    if (random.OneIn(4)) row = std::max(row, src_batch * repetitions);
    column = num_a * item + (random.OneIn(4) ? gap() : 0);
    group = num_b * column + gap();
    dst_batch = groups * group + gap();
  }

  int64_t src_bytes() const {
    return (repetitions - 1) * src_batch + (num_a - 1) * row +
           groups * num_b * item;
  }
  int64_t dst_bytes() const {
    return (repetitions - 1) * dst_batch + (groups - 1) * group +
           (num_b - 1) * column + num_a * item;
  }

  BlockPlan Plan() const {
    ByteCopy copy{item,
                  {{repetitions, src_batch, dst_batch},
                   {groups, num_b * item, group},
                   {num_b, item, column},
                   {num_a, row, item}}};
    Canonicalize(copy);
    return PlanBlocks(copy, {}, dst_bytes(), ThisMachine());
  }

  void Expect(const std::byte* src, std::byte* dst) const {
    for (int64_t t = 0; t < repetitions; ++t)
      for (int64_t c = 0; c < groups; ++c)
        for (int64_t b = 0; b < num_b; ++b)
          for (int64_t a = 0; a < num_a; ++a)
            std::memcpy(dst + t * dst_batch + c * group + b * column + a * item,
                        src + t * src_batch + a * row + (c * num_b + b) * item,
                        static_cast<size_t>(item));
  }
};

TEST(ColumnsTest, ShortOnesGoWhereTheyBelongAndTouchNothingElse) {
  const GuardedBuffer src(16 << 20), dst(16 << 20);
  Random random(11);
  EveryTarget target;
  int64_t transposed = 0, grouped = 0;
  for (int64_t i = 0; i < 20000; ++i) {
    target.Use(static_cast<size_t>(i));
    const Columns columns(random);
    if (columns.src_bytes() > 4 << 20 || columns.dst_bytes() > 4 << 20)
      continue;
    const BlockPlan plan = columns.Plan();
    transposed += plan.kernel == Kernel::kTranspose;
    grouped += plan.b.num_loops > 1;
    ASSERT_TRUE(testing::MovesAsExpected(
        random, src, columns.src_bytes(), dst, columns.dst_bytes(),
        [&](const std::byte* from, std::byte* to) {
          MoveBlocks(plan, Bytes(from), Bytes(from) + columns.src_bytes(),
                     Bytes(to));
        },
        [&](const std::byte* from, std::byte* to) {
          columns.Expect(from, to);
        }))
        << "plan " << i << ": items of " << columns.item << ", "
        << columns.num_a << " x " << columns.num_b << ", " << columns.groups
        << " groups, " << columns.repetitions << " times, rows " << columns.row
        << ", columns " << columns.column;
  }
  EXPECT_GE(transposed, 8000);
  EXPECT_GE(grouped, 500);
}

}  // namespace
}  // namespace axis
