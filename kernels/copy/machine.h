// What the planner must know about the machine it plans for.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace axis {

// The data caches one core can reach, in bytes, and its instructions.
struct Machine {
  int64_t l1 = 32 << 10;
  int64_t l1_way = 4 << 10;  // lines this far apart compete for the same place
  int64_t l2 = 1 << 20;
  int64_t l3 = 32 << 20;
  int64_t shuffle = 16;  // the longest run whose bytes it permutes at once
  int64_t workers = 1;   // at work on the same copy

  // Whether results of so many bytes are better written past the caches: the
  // reader will not find them there anyway. Measured with the reader, on 32 MiB
  // of L3: tiles break even at a quarter of it, long runs, and runs that go by
  // way of scratch, at a third, short runs at half. Several workers get more
  // out of a cache than one, but not out of the memory.
  bool StreamsTiles(int64_t total_bytes) const {
    return total_bytes >= l3 / (workers == 1 ? 4 : 3);
  }
  bool StreamsLongRuns(int64_t total_bytes) const {
    return total_bytes >= l3 / (workers == 1 ? 3 : 2);
  }
  bool StreamsShortRuns(int64_t total_bytes) const {
    return total_bytes >= l3 / 2;
  }

  // Asks the system; the defaults above where it does not tell. Not
  // sysconf(): on AMD it counts the L3 of the whole socket, of which a core
  // reaches only its own complex.
  static Machine Read() {
    Machine machine;
    for (int index = 0; index < 8; ++index) {
      const std::string dir =
          "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
      std::string type;
      int level = 0;
      int64_t kibibytes = 0, ways = 0;
      std::ifstream(dir + "/type") >> type;
      std::ifstream(dir + "/level") >> level;
      std::ifstream(dir + "/size") >> kibibytes;  // reads up to the "K"
      std::ifstream(dir + "/ways_of_associativity") >> ways;
      if (type == "Instruction" || kibibytes <= 0) continue;
      if (level == 1) machine.l1 = kibibytes << 10;
      if (level == 1 && ways > 0) machine.l1_way = machine.l1 / ways;
      if (level == 2) machine.l2 = kibibytes << 10;
      if (level == 3) machine.l3 = kibibytes << 10;
    }
    return machine;
  }
};

// This machine. Its caches are read once; which instructions are used is up to
// the kernels, and tests change it.
Machine ThisMachine();

}  // namespace axis
