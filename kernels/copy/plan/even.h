// Extents that few numbers divide: what is left of blocks that grow along them.
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/copy/byte_copy.h"

namespace axis {

// A loop of a copy, and how many of its indices divide well.
struct EvenPart {
  size_t loop;
  int64_t extent;  // less than all
};

// Blocks that are short take in a part of the loop that continues them, on
// either side: a part that divides its extent. If all such parts are far
// shorter than a block may be, most of the extent is better copied by itself,
// and the few indices that are left after it. Nothing is gained where the copy
// is short.
// REQUIRES: `copy` is canonical.
std::optional<EvenPart> FindEvenPart(const ByteCopy& copy);

}  // namespace axis
