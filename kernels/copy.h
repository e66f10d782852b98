// The engine: the only code of axisd that rearranges tensor bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/plan.h"

namespace axis {

// One thing to write from a source.
struct Target {
  const Plan* plan;
  std::byte* dst;
};

// Runs the plans of `targets`, which all read the same source, in parallel in
// the TBB arena of the caller.
//
// The source is the concatenation of `src`: a message may arrive in several
// pieces. Neither side needs any alignment; they must not overlap. Each target
// gets exactly the bits of its plan, each once; the unused bits of the last
// unit of a narrow type are set to zero. Cannot fail.
//
// Returns how many bytes had to be brought together first because they lay in
// several pieces; 0 if all was read in place.
int64_t Copy(std::span<const std::span<const std::byte>> src,
             std::span<const Target> targets);

}  // namespace axis
