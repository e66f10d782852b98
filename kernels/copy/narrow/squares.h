// Squares: transposing 1-, 2- and 4-bit elements without unpacking them.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "kernels/plan.h"

namespace axis {

// Copies the elements of `loops`, from element `from` of `src` to element `to`
// of `dst`, all in elements, if they fall into squares of as many elements as
// a byte has: whole bytes on both sides whichever way they lie. Else, or if
// that would not pay, returns false and leaves `dst` alone.
bool MoveSquares(int64_t item_bits, const absl::InlinedVector<Loop, 8>& loops,
                 const uint8_t* src, int64_t from, uint8_t* dst, int64_t to);

}  // namespace axis
