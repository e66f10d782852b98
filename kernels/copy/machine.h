// What the planner must know about the machine it plans for.
#pragma once

#include <cstdint>

namespace axis {

// The data caches one core can reach, in bytes.
struct Machine {
  int64_t l1 = 32 << 10;
  int64_t l2 = 1 << 20;
  int64_t l3 = 32 << 20;
};

// This machine; read once, the defaults above where the system does not tell.
const Machine& ThisMachine();

}  // namespace axis
