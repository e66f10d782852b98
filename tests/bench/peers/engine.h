// The engine as one of those who are measured, through its public door.
#pragma once

#include "kernels/program.h"
#include "tests/bench/peers/peer.h"

namespace axis::bench {

Op OpOf(const Case& c);

// Throws std::runtime_error if the engine does not take `c`.
Program ProgramOf(const Case& c);

Peer EnginePeer(const Case& c, Buffers buffers);

}  // namespace axis::bench
