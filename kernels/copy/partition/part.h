// Parts: what one worker moves of a copy, by its blocks or by its digits.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/copy/byte_copy.h"
#include "kernels/copy/digits/digits.h"
#include "kernels/copy/plan/block_plan.h"

namespace axis {

class Part {
 public:
  // Plans `copy`, which is part of an operation that writes `total_bytes`; for
  // `columns` see PlanBlocks(), whom they must outlive.
  // REQUIRES: `copy` is canonical.
  Part(const ByteCopy& copy, std::span<const int64_t> columns,
       int64_t total_bytes);

  // Carries it out. See MoveBlocks() for `src_end`.
  void Move(const uint8_t* src, const uint8_t* src_end, uint8_t* dst) const;

 private:
  BlockPlan blocks_;
  Digits digits_;
  bool by_digits_;
};

// The part that is all of `copy`, without columns. Each thread keeps the last
// few: to plan takes a quarter of what it takes to move some ten KiB, and who
// serves a model sees the same few copies over and over. Valid until this
// thread calls again.
// REQUIRES: `copy` is canonical.
const Part& RecentPart(const ByteCopy& copy, int64_t total_bytes);

}  // namespace axis
