// Squares: transposing 1-, 2- and 4-bit elements without unpacking them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "absl/container/inlined_vector.h"
#include "kernels/plan.h"

namespace axis {

// A copy of elements that fall into squares of as many as a byte has: whole
// bytes on both sides whichever way they lie.
struct Squares {
  Loop a;  // neighbours in the destination
  Loop b;  // neighbours in the source
  absl::InlinedVector<Loop, 8> outer;
};

// The squares of `loops`, from element `from` of the source to element `to` of
// the destination, all in elements; nullopt if there are none, or so few that
// they would not pay.
std::optional<Squares> FindSquares(int64_t item_bits,
                                   std::span<const Loop> loops, int64_t from,
                                   int64_t to);

// Copies them.
void MoveSquares(int64_t item_bits, const Squares& squares, const uint8_t* src,
                 int64_t from, uint8_t* dst, int64_t to);

}  // namespace axis
