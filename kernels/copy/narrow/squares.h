// Squares: transposing 1-, 2- and 4-bit elements without unpacking them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kernels/copy/narrow/sides.h"
#include "kernels/plan.h"

namespace axis {

// The sides of a copy of `loops`, from element `from` of the source to element
// `to` of the destination, all in elements, if it falls into squares of as many
// elements as a byte has: whole bytes on both sides whichever way they lie.
// Nullopt if it does not, or if there are so few that they would not pay.
std::optional<Sides> FindSquares(int64_t item_bits, std::span<const Loop> loops,
                                 int64_t from, int64_t to);

// Copies them, as a part of a copy of `total_bytes`.
void MoveSquares(int64_t item_bits, const Sides& squares, int64_t total_bytes,
                 const uint8_t* src, int64_t from, uint8_t* dst, int64_t to);

}  // namespace axis
