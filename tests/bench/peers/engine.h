// The engine as one of those who are measured, through its public door.
#pragma once

#include "kernels/program.h"
#include "tests/bench/peers/peer.h"

namespace axis::bench {

Op OpOf(const Case& c);

// Throws std::runtime_error if the engine does not take `c`.
Program ProgramOf(const Case& c);

// The source comes in pieces of so many bytes, as large messages do, the first
// of which is shorter by an odd number of bytes; in one if it is 0.
Peer EnginePeer(const Case& c, Buffers buffers, size_t piece_bytes = 0);

}  // namespace axis::bench
