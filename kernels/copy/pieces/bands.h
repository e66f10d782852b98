// Bands: copying from a source in pieces, of which lines of the destination
// need several.
#pragma once

#include <cstdint>

#include "kernels/copy/pieces/pieces.h"

namespace axis {

// Carries out `target` a band of its destination after the other: what a band
// is made of is brought together in scratch, which stays in cache. Returns
// false, with nothing done, if it is made of too many short runs.
// REQUIRES: IsWholeUnits(*target.plan), which has loops and no places.
bool CopyBands(Pieces pieces, const Target& target, int64_t total_bytes);

}  // namespace axis
