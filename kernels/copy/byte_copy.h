// Byte copies: plans whose every length is whole bytes.
#pragma once

#include <cstdint>
#include <span>

#include "absl/container/inlined_vector.h"
#include "kernels/plan.h"

namespace axis {

// Copies `item` contiguous bytes for every index of `loops`, whose strides
// here count bytes.
struct ByteCopy {
  int64_t item = 0;
  absl::InlinedVector<Loop, 8> loops;

  friend bool operator==(const ByteCopy&, const ByteCopy&) = default;
};

// `plan` without its offsets.
// REQUIRES: IsWholeUnits(plan).
ByteCopy ByteCopyOf(const Plan& plan);

// How many bytes `copy` writes.
int64_t BytesOf(const ByteCopy& copy);

// How far from where `loops` begin they are at one of their indices, which are
// counted through, those of the last loop first.
struct Offsets {
  int64_t src, dst;  // bytes
};
Offsets OffsetsAt(std::span<const Loop> loops, int64_t index);

// Brings `copy` to the form that CompilePlan() guarantees for plans: loops of
// extent 1 dropped, the rest sorted by destination stride, largest first, and
// fused where possible, the innermost ones into the item.
void Canonicalize(ByteCopy& copy);

}  // namespace axis
