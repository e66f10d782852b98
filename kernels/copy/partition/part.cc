#include "kernels/copy/partition/part.h"

#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/copy/block.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/partition/exchange.h"
#include "kernels/copy/tasks.h"

namespace axis {
namespace {

// Finds the digits of `copy` if it is faster by them than by `blocks`, or than
// in two steps; with lookups the latter was not measured.
bool FindFasterDigits(const ByteCopy& copy, const BlockPlan& blocks,
                      Digits& digits) {
  const Machine machine = ThisMachine();
  const bool faster =
      AreTooSmall(blocks, machine) ||
      (blocks.columns.empty() && !machine.LooksUp() && FindExchange(copy));
  return (faster && FindDigits(copy, digits)) ||
         FindWindows(copy, WindowsFor(blocks, machine), digits);
}

// What a part was made of, and the part.
struct Recent {
  ByteCopy copy;
  int64_t total_bytes = 0;
  Machine machine;
  std::optional<Part> part;
};

}  // namespace

Part::Part(const ByteCopy& copy, std::span<const int64_t> columns,
           int64_t total_bytes)
    : blocks_(PlanBlocks(copy, columns, total_bytes, MachineFor(total_bytes))),
      by_digits_(FindFasterDigits(copy, blocks_, digits_)) {}

void Part::Move(const uint8_t* src, const uint8_t* src_end,
                uint8_t* dst) const {
  if (by_digits_) return MoveDigits(digits_, src, dst);
  MoveBlocks(blocks_, src, src_end, dst);
}

const Part& RecentPart(const ByteCopy& copy, int64_t total_bytes) {
  thread_local std::vector<Recent> parts(8);  // some ten KiB each
  thread_local size_t oldest = 0;
  const Machine machine = MachineFor(total_bytes);
  for (const Recent& recent : parts)
    if (recent.part && recent.total_bytes == total_bytes &&
        recent.copy == copy && recent.machine == machine)
      return *recent.part;
  Recent& recent = parts[oldest];
  oldest = (oldest + 1) % parts.size();
  recent.copy = copy;
  recent.total_bytes = total_bytes;
  recent.machine = machine;
  return recent.part.emplace(copy, std::span<const int64_t>(), total_bytes);
}

}  // namespace axis
