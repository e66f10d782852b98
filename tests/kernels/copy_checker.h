// Checks copies against the oracle, for every instruction set.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/copy.h"
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
      std::byte* dst = Place(random_, *dst_[i], bytes);
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
  GuardedBuffer src_;
  std::vector<std::unique_ptr<GuardedBuffer>> dst_;
};

}  // namespace axis::testing
