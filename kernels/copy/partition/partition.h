// Partition: dividing copies among the workers of the caller's TBB arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/copy/byte_copy.h"

namespace axis {

// A byte copy and where it happens.
struct Move {
  ByteCopy copy;  // canonical
  const uint8_t* src = nullptr;
  uint8_t* dst = nullptr;
  // If not empty, the items of `copy` are followed by items for as many other
  // destinations: the i-th goes columns[i] bytes after the first.
  std::span<const int64_t> columns;
};

// `plan`, from the source that begins at `src`.
// REQUIRES: IsWholeUnits(plan).
Move MoveOf(const Plan& plan, const std::byte* src, std::byte* dst);

// Carries out `moves`, in an order of its own. All of them read the buffer that
// ends at `src_end`; what several share is read only once. They are part of an
// operation that writes `total_bytes`: that decides what a cache will hold.
void MoveAll(std::span<Move> moves, const uint8_t* src_end,
             int64_t total_bytes);

}  // namespace axis
