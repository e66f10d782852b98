// Copies of many short axes, and blocks made by hand: what the tests of digits
// and of windows share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/copy/byte_copy.h"
#include "kernels/copy/digits/digits.h"
#include "kernels/copy/plan/block_plan.h"
#include "tests/kernels/copy_checker.h"
#include "tests/kernels/random_copy.h"

namespace axis::testing {

// The blocks of a copy: a x b items, `batch` times.
inline BlockPlan Blocks(Kernel kernel, int64_t item, int64_t a, int64_t b,
                        int64_t batch) {
  BlockPlan plan{};  // with loops that go nowhere
  plan.kernel = kernel;
  plan.item = item;
  plan.a.extent = a;
  plan.b.extent = b;
  plan.batch.extent = batch;
  return plan;
}

// What RandomAxes read from and write to; few of them do not fit.
inline constexpr int64_t kMemory = 4 << 20;

// A copy of axes whose places on either side are by chance, with gaps.
struct RandomAxes {
  RandomAxes(Random& random, const std::vector<int64_t>& choices)
      : copy{int64_t{1} << random.In(0, 4), {}} {
    std::vector<int64_t> extents;
    int64_t items = 1;
    while (static_cast<int64_t>(extents.size()) < random.In(2, 14)) {
      const int64_t extent = random.Of(choices);
      if (items * extent * copy.item > 256 << 10) break;
      items *= extent;
      extents.push_back(extent);
    }
    auto strides = [&](const std::vector<int64_t>& order) {
      std::vector<int64_t> result(extents.size());
      int64_t stride = copy.item;
      for (int64_t axis : order) {
        if (stride >= 16 && random.OneIn(8))
          stride += copy.item * random.In(1, 5);
        result[static_cast<size_t>(axis)] = stride;
        stride *= extents[static_cast<size_t>(axis)];
      }
      return result;
    };
    const auto from = strides(random.Order(extents.size()));
    const auto to = strides(random.Order(extents.size()));
    src_bytes = dst_bytes = copy.item;
    for (size_t k = 0; k < extents.size(); ++k) {
      copy.loops.push_back({extents[k], from[k], to[k]});
      src_bytes += (extents[k] - 1) * from[k];
      dst_bytes += (extents[k] - 1) * to[k];
    }
    Canonicalize(copy);
  }

  bool MovesBy(const Digits& digits, Random& random, const GuardedBuffer& src,
               const GuardedBuffer& dst) const {
    return MovesAsExpected(
        random, src, src_bytes, dst, dst_bytes,
        [&](const std::byte* s, std::byte* d) {
          MoveDigits(digits, Bytes(s), Bytes(d));
        },
        [&](const std::byte* s, std::byte* d) {
          for (int64_t k = 0; k < BytesOf(copy) / copy.item; ++k) {
            const axis::Offsets at = OffsetsAt(copy.loops, k);
            std::memcpy(d + at.dst, s + at.src, static_cast<size_t>(copy.item));
          }
        });
  }

  ByteCopy copy;
  int64_t src_bytes, dst_bytes;
};

// What was moved: how often copies of so many vectors, or sources, were found,
// and how many of all copies were repeated.
struct Found {
  std::vector<int64_t> counts = std::vector<int64_t>(Digits::kVector + 1);
  int64_t repeated = 0;
};

// Moves 10,000 random copies of axes of `extents`, on one target after the
// other: those of which find(copy, digits) finds the digits. `count_of` says
// what they count as.
template <class Find, class CountOf>
Found MoveRandomAxes(uint64_t seed, const std::vector<int64_t>& extents,
                     Find find, CountOf count_of) {
  const GuardedBuffer src(kMemory), dst(kMemory);
  Random random(seed);
  EveryTarget target;
  const auto digits = std::make_unique<Digits>();
  Found found;
  for (int64_t i = 0; i < 10000; ++i) {
    target.Use(static_cast<size_t>(i));
    const RandomAxes axes(random, extents);
    if (std::max(axes.src_bytes, axes.dst_bytes) > kMemory - 64 ||
        !find(axes.copy, *digits))
      continue;
    ++found.counts[count_of(*digits)];
    found.repeated += !digits->outer.empty();
    const bool right = axes.MovesBy(*digits, random, src, dst);
    EXPECT_TRUE(right) << "copy " << i << ": items of " << axes.copy.item
                       << ", " << digits->num << " vectors, "
                       << digits->num_windows << " windows, "
                       << digits->num_places << " places";
    if (!right) break;
  }
  return found;
}

}  // namespace axis::testing
