// Checks copies against the oracle, for every instruction set.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/copy.h"
#include "kernels/copy/block.h"
#include "kernels/copy/byte_copy.h"
#include "kernels/plan.h"
#include "kernels/view.h"
#include "tests/kernels/random_copy.h"

namespace axis::testing {

// Every instruction set this machine has, one after the other.
class EveryTarget {
 public:
  EveryTarget() {
    for (int64_t all = hwy::SupportedTargets(); all != 0; all &= all - 1)
      targets_.push_back(all & -all);
  }
  ~EveryTarget() { Force(0); }
  size_t size() const { return targets_.size(); }
  void Use(size_t i) { Force(targets_[i % targets_.size()]); }

 private:
  static void Force(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
  }
  std::vector<int64_t> targets_;
};

// Where a buffer lies is part of the test: against the end of its guarded
// memory, or its begin plus a few bytes.
inline std::byte* Place(Random& random, const GuardedBuffer& memory,
                        int64_t bytes) {
  return random.OneIn(2) ? memory.Last(static_cast<size_t>(bytes))
                         : memory.From(static_cast<size_t>(
                               random.OneIn(2) ? 0 : random.In(0, 63)));
}

// How many bytes `copy` goes from its begin to its end on one side.
inline int64_t ReachOf(const ByteCopy& copy, int64_t Loop::*stride) {
  int64_t last = 0;
  for (const Loop& loop : copy.loops)
    last += (loop.extent - 1) * (loop.*stride);
  return last + copy.item;
}

// Carries out the loops of `copy` from the l-th on, item by item.
inline void MoveItems(const ByteCopy& copy, const std::byte* src,
                      std::byte* dst, size_t l = 0) {
  if (l == copy.loops.size()) {
    std::copy_n(src, copy.item, dst);
    return;
  }
  const Loop& loop = copy.loops[l];
  for (int64_t i = 0; i < loop.extent; ++i)
    MoveItems(copy, src + i * loop.src_stride, dst + i * loop.dst_stride,
              l + 1);
}

// Whether move(src, dst) writes what expect(src, dst) does, and nothing else:
// of a random source of `src_bytes`, to a destination of `dst_bytes`.
template <class Move, class Expect>
bool MovesAsExpected(Random& random, const GuardedBuffer& src,
                     int64_t src_bytes, const GuardedBuffer& dst,
                     int64_t dst_bytes, Move move, Expect expect) {
  std::byte* const from = Place(random, src, src_bytes);
  std::byte* const to = Place(random, dst, dst_bytes);
  random.Fill(from, static_cast<size_t>(src_bytes));
  std::fill_n(to, dst_bytes, std::byte{0xa5});
  std::vector<std::byte> expected(to, to + dst_bytes);
  expect(from, expected.data());
  move(from, to);
  return std::equal(expected.begin(), expected.end(), to);
}

// Whether the blocks of `plan` move what `copy` says, and nothing else.
inline bool MovesLike(Random& random, const GuardedBuffer& src,
                      const GuardedBuffer& dst, const ByteCopy& copy,
                      const BlockPlan& plan) {
  const int64_t src_bytes = ReachOf(copy, &Loop::src_stride);
  return MovesAsExpected(
      random, src, src_bytes, dst, ReachOf(copy, &Loop::dst_stride),
      [&](const std::byte* from, std::byte* to) {
        MoveBlocks(plan, Bytes(from), Bytes(from) + src_bytes, Bytes(to));
      },
      [&](const std::byte* from, std::byte* to) { MoveItems(copy, from, to); });
}

// Copies `src_view` of a random source to `dst_views[i]` of buffer i, and
// compares all of each buffer with what the oracle makes of it.
class Checker {
 public:
  explicit Checker(size_t bytes) : src_(bytes) {
    random_.Fill(src_.From(0), src_.size());
    for (int i = 0; i < kTargets; ++i)
      dst_.push_back(std::make_unique<GuardedBuffer>(bytes));
  }

  Random& random() { return random_; }

  // From here on results start at a line, as those of a pool do.
  void PlaceAtLines() { at_lines_ = true; }

  void Check(const std::vector<View>& src_views,
             const std::vector<View>& dst_views, int64_t bits,
             int64_t src_elements) {
    const int64_t src_bytes = PackedBytes(src_elements, bits);
    // Layouts with gaps may not fit; others come.
    const int64_t room = static_cast<int64_t>(src_.size()) - 64;
    if (src_bytes > room) return;
    for (const View& view : dst_views)
      if (PackedBytes(Reach(view), bits) > room) return;
    const std::byte* src = Place(random_, src_, src_bytes);
    std::vector<Plan> plans;
    std::vector<Target> targets;
    std::vector<std::vector<std::byte>> expected;
    plans.reserve(src_views.size());
    for (size_t i = 0; i < src_views.size(); ++i) {
      const std::optional<Plan> plan =
          CompilePlan(src_views[i], dst_views[i], bits);
      ASSERT_TRUE(plan.has_value());
      plans.push_back(*plan);
      const int64_t bytes = PackedBytes(Reach(dst_views[i]), bits);
      std::byte* dst =
          at_lines_ ? dst_[i]->From(0) : Place(random_, *dst_[i], bytes);
      random_.Fill(dst, static_cast<size_t>(bytes));
      targets.push_back({&plans.back(), dst});
      expected.emplace_back(dst, dst + bytes);
      if (bits % 8 != 0)
        std::fill(expected[i].begin(), expected[i].end(), std::byte{0});
      CopyElements(src_views[i], dst_views[i], bits, src, expected[i].data());
    }
    const std::span<const std::byte> piece(src, static_cast<size_t>(src_bytes));
    EXPECT_EQ(Copy({&piece, 1}, targets), 0);
    for (size_t i = 0; i < targets.size(); ++i)
      if (!std::equal(expected[i].begin(), expected[i].end(), targets[i].dst))
        Report(plans[i]);
  }

  static constexpr int kTargets = 6;

 private:
  static void Report(const Plan& plan) {
    std::string text;
    for (const Loop& loop : plan.loops)
      text += " (" + std::to_string(loop.extent) + ", " +
              std::to_string(loop.src_stride) + ", " +
              std::to_string(loop.dst_stride) + ")";
    ADD_FAILURE() << "item " << plan.item_bits << " run " << plan.run
                  << " from " << plan.src_offset << " to " << plan.dst_offset
                  << " loops" << text;
  }

  Random random_{20261121};
  bool at_lines_ = false;
  GuardedBuffer src_;
  std::vector<std::unique_ptr<GuardedBuffer>> dst_;
};

// Calls f `count` times, on one target after the other, until it fails.
inline void OnEveryTarget(int64_t count,
                          const std::function<void(Random&, Checker&)>& f) {
  Checker checker(1 << 20);
  EveryTarget target;
  for (int64_t i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
    target.Use(static_cast<size_t>(i));
    f(checker.random(), checker);
  }
}

// Checks a plan that takes `channels` channels, in blocks, to places in blocks:
// as oneDNN's Shuffle does, but any channel may come from anywhere.
inline void CheckPlaces(Random& random, const GuardedBuffer& src_memory,
                        const GuardedBuffer& dst_memory, int64_t channels,
                        int64_t batch, int64_t height, int64_t width) {
  static const std::vector<int64_t> kBlocks = {2, 3, 4, 6, 8, 12, 16, 24, 64};
  const int64_t bytes = int64_t{1} << random.In(0, 4);
  const int64_t block = random.Of(kBlocks);
  const int64_t blocks = (channels + block - 1) / block;
  const int64_t positions = height * width;
  const int64_t size = batch * blocks * positions * block * bytes;
  ASSERT_LE(size + 64, static_cast<int64_t>(src_memory.size()));
  // Rows and columns may change places, too.
  const bool transposed = random.OneIn(3);
  auto at = [&](int64_t n, int64_t c, int64_t h, int64_t w, bool as_written) {
    const int64_t position =
        as_written && transposed ? w * height + h : h * width + w;
    return (((n * blocks + c / block) * positions + position) * block +
            c % block) *
           bytes;
  };
  std::vector<int64_t> from = random.Order(static_cast<size_t>(channels));
  if (random.OneIn(2)) {  // in groups, as it mostly is
    int64_t groups = random.In(1, channels);
    while (channels % groups != 0) --groups;
    for (int64_t c = 0; c < channels; ++c)
      from[static_cast<size_t>(c)] =
          c % groups * (channels / groups) + c / groups;
  }
  Plan plan{.item_bits = bytes * 8, .loops = {}, .places = {}};
  plan.run = plan.item_bits;
  // The channels that are left out must not be written.
  const int64_t first = random.OneIn(3) ? random.In(0, channels - 1) : 0;
  plan.src_offset = random.OneIn(2) ? at(0, from[0], 0, 0, false) * 8 : 0;
  plan.dst_offset = at(0, first, 0, 0, true) * 8;
  for (int64_t c = first; c < channels; ++c)
    plan.places.push_back(
        {at(0, from[static_cast<size_t>(c)], 0, 0, false) * 8 - plan.src_offset,
         at(0, c, 0, 0, true) * 8 - plan.dst_offset});
  auto add = [&](int64_t extent, int64_t n, int64_t h, int64_t w) {
    if (extent > 1)
      plan.loops.push_back(
          {extent, at(n, 0, h, w, false) * 8, at(n, 0, h, w, true) * 8});
  };
  add(batch, 1, 0, 0);
  if (transposed) {
    add(width, 0, 0, 1);
    add(height, 0, 1, 0);
  } else {
    add(positions, 0, 0, 1);
  }
  std::byte* const src = Place(random, src_memory, size);
  std::byte* const dst = Place(random, dst_memory, size);
  random.Fill(src, static_cast<size_t>(size));
  random.Fill(dst, static_cast<size_t>(size));
  std::vector<std::byte> expected(dst, dst + size);
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t c = first; c < channels; ++c)
      for (int64_t h = 0; h < height; ++h)
        for (int64_t w = 0; w < width; ++w)
          std::copy_n(src + at(n, from[static_cast<size_t>(c)], h, w, false),
                      bytes, expected.data() + at(n, c, h, w, true));
  const std::span<const std::byte> source(src, static_cast<size_t>(size));
  // It may come in pieces, of which no vector can be made.
  const size_t cut =
      random.OneIn(4) ? static_cast<size_t>(random.In(0, size)) : 0;
  const std::span<const std::byte> pieces[] = {source.first(cut),
                                               source.subspan(cut)};
  const Target target = {&plan, dst};
  EXPECT_EQ(Copy(cut > 0 ? pieces : std::span(&source, 1), {&target, 1}),
            cut > 0 ? size : 0);
  ASSERT_TRUE(std::equal(expected.begin(), expected.end(), dst))
      << bytes << " bytes, " << channels << " channels in blocks of " << block
      << ", " << batch << " x " << height << " x " << width << ", transposed "
      << transposed << ", from channel " << first;
}

}  // namespace axis::testing
