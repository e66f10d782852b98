// Claims of kernels/copy/block.h: what is planned for results that no cache
// holds, or that a cache far away does, is moved to the byte as well. Plans
// are told that they are part of a large copy, so that small ones do here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>
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

// Matrices, transposed: item (a, b) of repetition t lies
//   at  t * src_batch + a * row + b * item      in the source,
//   at  t * dst_batch + columns[b] + a * item   in the destination.
struct Matrices {
  int64_t item, num_a, num_b, repetitions;
  int64_t row, src_batch, dst_batch;
  std::vector<int64_t> columns;
  bool even;  // columns lie in even distances

  // Items are as long as a register takes, or of any length.
  Matrices(Random& random, bool is_split, bool any_item) {
    const int64_t longest = random.OneIn(3) ? 12 : random.OneIn(2) ? 300 : 2000;
    item = any_item ? random.In(3, longest) : int64_t{1} << random.In(0, 4);
    const int64_t few = std::max<int64_t>(2, 64 / item);
    num_a =
        random.In(few, std::max(few, (random.OneIn(2) ? 9000 : 2500) / item));
    num_b = random.In(2, random.OneIn(4) ? 300 : 600 / item + 2);
    // Columns of whole lines, too, which are streamed as they are.
    const bool lines = random.OneIn(3);
    if (lines) num_a = RoundUpToLine(num_a * item) / item;
    num_b = std::min(num_b, (1 << 20) / (num_a * item));
    repetitions = random.OneIn(2) ? 1 : random.In(2, 3);
    even = !is_split;
    // As outputs of a split, rows are those of one larger matrix.
    row = num_b * item + (random.OneIn(2) ? 0 : random.In(0, 80));
    // Rows that compete for one place in a cache.
    if (random.OneIn(2) && num_a <= 400) row = (row + 4095) / 4096 * 4096;
    src_batch = num_a * row;
    // Gaps are whole items, as they are in tensors, or not.
    const int64_t unit = lines ? kLineBytes : random.OneIn(4) ? 1 : item;
    const int64_t gap = random.OneIn(2) ? 0 : random.In(0, 80 / unit) * unit;
    // Columns that compete, too.
    const int64_t step = even && random.OneIn(4)
                             ? (num_a * item + 1023) / 1024 * 1024
                             : num_a * item + gap;
    int64_t at = 0;
    for (int64_t b = 0; b < num_b; ++b) {
      columns.push_back(at);
      at += even ? step : num_a * item + random.In(0, 8) * unit;
    }
    dst_batch = at;
  }

  int64_t src_bytes() const { return repetitions * src_batch; }
  int64_t dst_bytes() const { return repetitions * dst_batch; }

  BlockPlan PlanFor(int64_t total_bytes, const Machine& machine) const {
    ByteCopy copy{item, {{num_a, row, item}}};
    if (even)
      copy.loops.insert(copy.loops.begin(),
                        {num_b, item, columns[1] - columns[0]});
    if (repetitions > 1)
      copy.loops.insert(copy.loops.begin(),
                        {repetitions, src_batch, dst_batch});
    return PlanBlocks(copy, even ? std::span<const int64_t>() : columns,
                      total_bytes, machine);
  }

  void Expect(const std::byte* src, std::byte* dst) const {
    for (int64_t t = 0; t < repetitions; ++t)
      for (int64_t a = 0; a < num_a; ++a)
        for (int64_t b = 0; b < num_b; ++b)
          std::memcpy(
              dst + t * dst_batch + columns[static_cast<size_t>(b)] + a * item,
              src + t * src_batch + a * row + b * item,
              static_cast<size_t>(item));
  }
};

void MoveRandomMatrices(int64_t total_bytes, bool is_split,
                        bool any_item = false) {
  const char* const count = std::getenv("AXIS_COPY_PLANS");
  const int64_t plans = count == nullptr ? 1500 : std::atoll(count) / 10;
  const GuardedBuffer src(6 << 20), dst(6 << 20);
  Random random(7);
  EveryTarget target;
  int64_t lookups = 0, realigned = 0, far = 0, paired = 0;
  for (int64_t i = 0; i < plans; ++i) {
    target.Use(static_cast<size_t>(i));
    const Matrices matrices(random, is_split, any_item);
    Machine machine = ThisMachine();
    machine.l2 = int64_t{1} << random.In(20, 21);
    machine.l3 = 32 << 20;
    const BlockPlan plan = matrices.PlanFor(total_bytes, machine);
    lookups += machine.LooksUp();
    realigned += plan.realigns;
    far += machine.HasFarL3();
    paired += plan.pairs && plan.lines;
    ASSERT_TRUE(testing::MovesAsExpected(
        random, src, matrices.src_bytes(), dst, matrices.dst_bytes(),
        [&](const std::byte* from, std::byte* to) {
          MoveBlocks(plan, Bytes(from), Bytes(from) + matrices.src_bytes(),
                     Bytes(to));
        },
        [&](const std::byte* from, std::byte* to) {
          matrices.Expect(from, to);
        }))
        << "plan " << i << ": items of " << matrices.item << ", "
        << matrices.num_a << " x " << matrices.num_b << ", "
        << matrices.repetitions << " times, rows " << matrices.row;
  }
  // Who looks up puts lines together, and in pairs if the last cache is far.
  if (total_bytes <= 1 << 20) return;
  EXPECT_GE(realigned, lookups / 100);
  if (any_item) return;
  EXPECT_GE(paired, far / 100);
}

TEST(BlocksTest, AreStreamedPastAllCaches) {
  MoveRandomMatrices(int64_t{1} << 30, false);
}

TEST(BlocksTest, AreStreamedPastACacheThatIsFar) {
  MoveRandomMatrices(int64_t{4} << 20, false);
}

TEST(BlocksTest, StayInCache) { MoveRandomMatrices(1 << 20, false); }

TEST(BlocksTest, OfColumnsForSeveralDestinationsAreStreamed) {
  MoveRandomMatrices(int64_t{1} << 30, true);
}

TEST(BlocksTest, OfItemsOfAnyLengthAreStreamed) {
  MoveRandomMatrices(int64_t{1} << 30, false, true);
}

TEST(BlocksTest, OfItemsOfAnyLengthStayInCache) {
  MoveRandomMatrices(1 << 20, false, true);
}

// Few rows that are interleaved to what begins and ends within lines; or, if
// `apart`, few columns that are taken apart to it.
void InterleaveRandomRows(bool apart) {
  const GuardedBuffer src(1 << 20), dst(1 << 20);
  Random random(13);
  EveryTarget target;
  int64_t lookups = 0, realigned = 0;
  for (int64_t i = 0; i < 6000; ++i) {
    target.Use(static_cast<size_t>(i));
    Machine machine = ThisMachine();
    machine.l2 = int64_t{1} << random.In(20, 21);
    machine.l3 = 32 << 20;
    const int64_t item = int64_t{1} << random.In(0, 3), rows = random.In(2, 4);
    const int64_t most = random.OneIn(4) ? 3000 : 1500;
    const int64_t run = random.In(32 / item, most / item) * item;
    const int64_t times = random.In(1, random.OneIn(4) ? 60 : 4);
    // Most gaps are whole items.
    const int64_t unit = random.OneIn(8) ? 1 : item;
    const auto gap = [&](int64_t often) {
      return random.OneIn(often) ? 0 : random.In(1, 80 / unit) * unit;
    };
    // One side is interleaved; on the other, rows lie `pitch` apart.
    const int64_t pitch = run + gap(apart ? 2 : 1);
    const Loop many{run / item, item, rows * item}, few{rows, pitch, item};
    const int64_t rows_batch = rows * pitch + gap(2);
    const int64_t mixed_batch = rows * run + gap(2);
    ByteCopy copy{item, {many, few}};
    if (times > 1)
      copy.loops.insert(copy.loops.begin(), {times, rows_batch, mixed_batch});
    int64_t src_bytes = times * rows_batch, dst_bytes = times * mixed_batch;
    if (apart) {
      for (Loop& loop : copy.loops) std::swap(loop.src_stride, loop.dst_stride);
      std::swap(src_bytes, dst_bytes);
    }
    // The innermost loop is that of neighbours in the destination.
    if (apart) std::swap(copy.loops.back(), *(copy.loops.end() - 2));
    const BlockPlan plan =
        PlanBlocks(copy, {}, int64_t{1} << random.In(20, 30), machine);
    lookups += machine.LooksUp();
    realigned += plan.realigns;
    ASSERT_TRUE(testing::MovesAsExpected(
        random, src, src_bytes, dst, dst_bytes,
        [&](const std::byte* from, std::byte* to) {
          MoveBlocks(plan, Bytes(from), Bytes(from) + src_bytes, Bytes(to));
        },
        [&](const std::byte* from, std::byte* to) {
          for (int64_t t = 0; t < times; ++t)
            for (int64_t at = 0; at < rows * run; at += item) {
              const int64_t mixed = t * mixed_batch + at;
              const int64_t apart_at = t * rows_batch +
                                       at / item % rows * pitch +
                                       at / item / rows * item;
              std::memcpy(to + (apart ? apart_at : mixed),
                          from + (apart ? mixed : apart_at),
                          static_cast<size_t>(item));
            }
        }))
        << "plan " << i << ": items of " << item << ", " << rows << " rows of "
        << run << " bytes, " << times << " times";
  }
  EXPECT_GE(realigned, lookups / 8);
}

TEST(BlocksTest, AreInterleavedToLinesThatBeginAnywhere) {
  InterleaveRandomRows(false);
}

TEST(BlocksTest, AreTakenApartToLinesThatBeginAnywhere) {
  InterleaveRandomRows(true);
}

// Runs of num_i x num_j items that are transposed, run after run.
TEST(BlocksTest, ShufflesAreStreamed) {
  const GuardedBuffer src(1 << 17), dst(1 << 17);
  Random random(11);
  EveryTarget target;
  int64_t streamed = 0;
  for (int64_t i = 0; i < 3000; ++i) {
    target.Use(static_cast<size_t>(i));
    Machine machine = ThisMachine();
    machine.l2 = int64_t{1} << random.In(20, 21);
    machine.l3 = 32 << 20;
    const int64_t most = random.OneIn(2) ? machine.shuffle : 64;
    const int64_t item = random.In(1, 8), num_i = random.In(2, most / item / 2);
    const int64_t num_j = random.In(2, most / item / num_i);
    const int64_t run = item * num_i * num_j;
    const int64_t runs = random.In(8 * 256 / run + 1, (1 << 15) / run);
    const ByteCopy copy{item,
                        {{runs, run, run},
                         {num_i, item, num_j * item},
                         {num_j, num_i * item, item}}};
    const bool large = random.OneIn(2);
    const BlockPlan plan =
        PlanBlocks(copy, {}, large ? 8 << 20 : (8 << 20) - 1, machine);
    ASSERT_EQ(plan.kernel, Kernel::kShuffle);
    EXPECT_EQ(plan.stream, large);
    streamed += plan.stream;
    const auto bytes = static_cast<size_t>(runs * run);
    std::byte* const from = testing::Place(random, src, runs * run);
    std::byte* const to = testing::Place(random, dst, runs * run);
    random.Fill(from, bytes);
    MoveBlocks(plan, Bytes(from), Bytes(from) + bytes, Bytes(to));
    for (int64_t at = 0; at < runs * num_i * num_j; ++at) {
      const int64_t r = at / (num_i * num_j), in_run = at % (num_i * num_j);
      const int64_t j = in_run % num_j, k = in_run / num_j;
      ASSERT_EQ(
          std::memcmp(to + at * item, from + r * run + (j * num_i + k) * item,
                      static_cast<size_t>(item)),
          0)
          << "plan " << i << ": items of " << item << ", " << num_i << " x "
          << num_j << ", " << runs << " times, item " << at;
    }
  }
  EXPECT_GE(streamed, 1000);
}

}  // namespace
}  // namespace axis
