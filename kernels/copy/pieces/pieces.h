// Pieces: copying from a source that lies in several, each read where it lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/copy.h"

namespace axis {

// What lies one after the other in the source, but not in memory.
using Pieces = std::span<const std::span<const std::byte>>;

// Copies from `pieces`, several at a time, and brings little of them together:
// what would begin or end inside a line of the destination, most often one part
// in 32 of the source or less, at most one in four, in memory of `pool` or of
// the heap; or, where lines are made of what lies in several pieces, a band of
// them at a time in cache. Returns false, with nothing done, if it is faster to
// bring all of them together first. `targets` get `total_bytes`.
bool CopyPieces(Pieces pieces, std::span<const Target> targets,
                int64_t total_bytes, BufferPool* pool);

}  // namespace axis
