// Skewed copies: rows of 1-, 2- and 4-bit elements that begin inside bytes,
// moved without unpacking them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "absl/container/inlined_vector.h"
#include "kernels/plan.h"

namespace axis {

// A copy of rows, or of matrices. Strides are in elements.
struct Skewed {
  Loop a;  // neighbours in the destination
  Loop b;  // neighbours in the source; the same loop if it is a copy of rows
  absl::InlinedVector<Loop, 8> outer;

  bool has_rows() const { return a.src_stride == 1; }
};

// `loops`, in elements, as such a copy; nullopt if it is none, or so small that
// it would not pay.
std::optional<Skewed> FindSkewed(int64_t item_bits,
                                 std::span<const Loop> loops);

// Copies from element `from` of the source to element `to` of the destination.
// Keeps the other elements of the bytes that it writes.
void MoveSkewed(int64_t item_bits, const Skewed& skewed, const uint8_t* src,
                int64_t from, uint8_t* dst, int64_t to);

}  // namespace axis
