// Peers: the libraries that the engine is measured against.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tests/bench/case.h"

namespace axis::bench {

// Where a case is run: the source, and room for all pieces.
struct Buffers {
  const std::byte* src;
  std::byte* dst;
};

// Somebody who can run a case, ready to: all that can be prepared is prepared.
struct Peer {
  std::string name;
  std::function<void()> run;
};

// The peers of a library that take `c`; none if it cannot. `threads` is how
// many threads they may use; OpenMP is told by the environment.
std::vector<Peer> DnnlPeers(const Case& c, Buffers buffers);
std::vector<Peer> EigenPeers(const Case& c, Buffers buffers, int threads);

}  // namespace axis::bench
