#include "kernels/copy/machine.h"

#include <fstream>
#include <string>

namespace axis {
namespace {

Machine ReadMachine() {
  // Not sysconf(): on AMD it counts the L3 of the whole socket, of which a
  // core reaches only its own complex.
  Machine machine;
  for (int index = 0; index < 8; ++index) {
    const std::string dir =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    std::string type;
    int level = 0;
    int64_t kibibytes = 0;
    std::ifstream(dir + "/type") >> type;
    std::ifstream(dir + "/level") >> level;
    std::ifstream(dir + "/size") >> kibibytes;  // reads up to the "K"
    if (type == "Instruction" || kibibytes <= 0) continue;
    if (level == 1) machine.l1 = kibibytes << 10;
    if (level == 2) machine.l2 = kibibytes << 10;
    if (level == 3) machine.l3 = kibibytes << 10;
  }
  return machine;
}

}  // namespace

const Machine& ThisMachine() {
  static const Machine machine = ReadMachine();
  return machine;
}

}  // namespace axis
