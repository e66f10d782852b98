// Shuffles: short runs whose bytes change places, run after run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/copy/byte_copy.h"
#include "kernels/copy/plan/block_plan.h"

namespace axis {

struct FoundShuffle {
  int64_t run;       // bytes
  size_t num_outer;  // how many loops there are around it
};

// The longest runs of at most `most` bytes that the innermost loops of `copy`
// permute in place; the last loop around them goes from run to run. Between
// runs there may be gaps only where whole vectors are looked up, parts of which
// can be stored.
std::optional<FoundShuffle> FindShuffle(const ByteCopy& copy, int64_t most);

// Fills in where the bytes of a step come from.
void FillShuffle(const ByteCopy& copy, const FoundShuffle& found,
                 std::array<uint8_t, kMaxShuffle>& shuffle);

}  // namespace axis
