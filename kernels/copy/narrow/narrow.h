// Narrow copies: plans of elements that do not start at whole bytes.
#pragma once

#include <cstdint>

#include "kernels/plan.h"

namespace axis {

// Carries out `plan`; reads nothing but the bytes its elements share.
//
// Works in blocks: unpacks what a block reads to a byte per element, moves
// bytes as any other copy does, packs the result.
//
// REQUIRES: item_bits is 1, 2, 3, 4 or 6; the plan writes all elements of its
//           destination, from the first to the last.
void MoveNarrow(const Plan& plan, const uint8_t* src, uint8_t* dst);

}  // namespace axis
