// Skewed copies: rows of 1-, 2- and 4-bit elements that begin inside bytes,
// moved without unpacking them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kernels/copy/narrow/sides.h"
#include "kernels/plan.h"

namespace axis {

// The sides of a copy of `loops`, in elements; nullopt if it has none, or is so
// small that it would not pay.
std::optional<Sides> FindSkewed(int64_t item_bits, std::span<const Loop> loops);

// Copies from element `from` of the source to element `to` of the destination.
// Keeps the other elements of the bytes that it writes.
void MoveSkewed(int64_t item_bits, const Sides& sides, const uint8_t* src,
                int64_t from, uint8_t* dst, int64_t to);

}  // namespace axis
