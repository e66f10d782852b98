#include "kernels/copy/scratch.h"

#include <memory>
#include <new>

namespace axis {
namespace {

constexpr std::align_val_t kPage{4096};

struct Free {
  void operator()(uint8_t* memory) const { ::operator delete(memory, kPage); }
};

uint8_t* Scratch() {
  thread_local const std::unique_ptr<uint8_t, Free> memory(
      static_cast<uint8_t*>(
          ::operator new(kStageBytes + kGatherBytes, kPage)));
  return memory.get();
}

}  // namespace

uint8_t* StageScratch() { return Scratch(); }
uint8_t* GatherScratch() { return Scratch() + kStageBytes; }

}  // namespace axis
