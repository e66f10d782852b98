// Windows: how much of the outputs must be held while the input comes in order.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/program.h"

namespace axis {

// What one plan writes of the outputs laid end to end, and what it reads.
struct Stretch {
  const Plan* plan;    // null if the output is empty
  int64_t dst_begin;   // bytes, as all of these
  int64_t dst_end;
  int64_t src_begin;
  int64_t src_end;
};

// The outputs of `program`, in order.
// REQUIRES: it has at most one pass, from its only input.
std::vector<Stretch> Stretches(const Program& program);

// The bytes that only move as one: an element, or the narrow elements that
// share bytes.
int64_t UnitBytes(int64_t item_bits);

// Whether `plan` moves whole units to whole units, so that it can be cut
// between any two of them.
bool IsWholeUnits(const Plan& plan);

// Whether the outputs end to end are the input.
bool IsIdentity(const std::vector<Stretch>& outputs);

// If the units of the input are written one after the other: the most bytes
// there ever are from the first byte not yet written to the last one written,
// the next unit included.
int64_t WindowOf(const std::vector<Stretch>& outputs);

}  // namespace axis
