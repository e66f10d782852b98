// What the planner must know about the machine it plans for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

namespace axis {

// The data caches one core can reach, in bytes, and its instructions.
struct Machine {
  // Of a larger last cache the neighbours take the rest. Measured on two cores
  // of a processor with 260 MiB, with the reader and without: what is larger
  // went out to memory, and two to three times as slowly if not past the
  // caches.
  static constexpr int64_t kMostL3 = 64 << 20;

  int64_t l1 = 32 << 10;
  int64_t l1_way = 4 << 10;  // lines this far apart compete for the same place
  int64_t l2 = 1 << 20;
  int64_t l3 = 32 << 20;
  int64_t shuffle = 64;  // the longest run whose bytes are looked up
  int64_t vector = 32;   // what a store writes
  int64_t workers = 1;   // at work on the same copy

  friend bool operator==(const Machine&, const Machine&) = default;

  // Whether it permutes bytes of several vectors in one instruction or two, and
  // so takes runs that are longer than 64 bytes.
  bool LooksUp() const { return shuffle > 64; }

  // Whether the way to the last cache is long, as it is where it serves dozens
  // of cores; then each has a large second one. Measured with lookups only.
  bool HasFarL3() const { return LooksUp() && l2 >= 2 << 20; }

  // Whether results of so many bytes are better written past the caches: their
  // reader will not find them there anyway. Measured with the reader and
  // without on 32 MiB of L3, of a core that looks up and of one that does not,
  // both beside neighbours who use the cache as well. Several workers get more
  // out of a cache than one, not out of the memory. Tiles are lost soonest:
  // they read and write single lines, which no core foresees.
  bool StreamsTiles(int64_t total_bytes) const {
    return Exceeds(total_bytes, {7, 10}, {5, 10});
  }
  // Of items that are lines, or longer.
  bool StreamsTilesOfLines(int64_t total_bytes) const {
    return Exceeds(total_bytes, {8, 10}, {8, 10});
  }
  // With lookups measured without the reader.
  bool StreamsInterleaved(int64_t total_bytes) const {
    return Exceeds(total_bytes, {8, 16}, {8, 11});
  }
  bool StreamsDeinterleaved(int64_t total_bytes) const {
    return Exceeds(total_bytes, {8, 16}, {9, 11});
  }
  bool StreamsShortRuns(int64_t total_bytes) const {
    const int64_t parts = HasFarL3() ? 8 : 16;
    return Exceeds(total_bytes, {parts, parts}, {16, 16});
  }
  bool StreamsLongRuns(int64_t total_bytes) const {
    return StreamsLines(total_bytes) || Exceeds(total_bytes, {8, 13}, {9, 13});
  }
  // What is made of whole lines, and need not be put together first, goes past
  // a far L3 once the second cache does not hold it. Whoever reads it in this
  // thread is later; whoever sends it, in the kernel and on whatever core, is
  // not, and takes less of a core.
  bool StreamsLines(int64_t total_bytes) const {
    return HasFarL3() && total_bytes >= l2;
  }

  // Asks the system; the defaults above where it does not tell. Not
  // sysconf(): on AMD it counts the L3 of the whole socket, of which a core
  // reaches only its own complex.
  static Machine Read(
      const std::string& caches = "/sys/devices/system/cpu/cpu0/cache") {
    Machine machine;
    for (int index = 0; index < 8; ++index) {
      const std::string dir = caches + "/index" + std::to_string(index);
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
      if (level == 3) machine.l3 = std::min(kibibytes << 10, kMostL3);
    }
    return machine;
  }

 private:
  struct Parts {
    int64_t for_one, for_several;  // workers
  };

  // Whether `bytes` are so many parts in 32 of the L3, or more.
  bool Exceeds(int64_t bytes, Parts with_lookups, Parts without) const {
    const Parts parts = LooksUp() ? with_lookups : without;
    return bytes >=
           l3 / 32 * (workers == 1 ? parts.for_one : parts.for_several);
  }
};

// This machine. Its caches are read once; which instructions are used is up to
// the kernels, and tests change it.
Machine ThisMachine();

}  // namespace axis
