// The engine: the only code of axisd that rearranges tensor bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/copy/memory/buffer_pool.h"
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
// Large pieces are read where they lie (kernels/copy/pieces/); small ones are
// brought together first, in memory of `pool`, or of the heap if there is none.
// Returns how many bytes those were; 0 if pieces were read in place.
int64_t Copy(std::span<const std::span<const std::byte>> src,
             std::span<const Target> targets, BufferPool* pool = nullptr);

}  // namespace axis
