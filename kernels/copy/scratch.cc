#include "kernels/copy/scratch.h"

#include <memory>
#include <new>

namespace axis {
namespace {

constexpr std::align_val_t kPage{4096};

struct Free {
  void operator()(uint8_t* memory) const { ::operator delete(memory, kPage); }
};

std::unique_ptr<uint8_t, Free> Allocate(int64_t bytes) {
  return std::unique_ptr<uint8_t, Free>(static_cast<uint8_t*>(
      ::operator new(static_cast<size_t>(bytes), kPage)));
}

}  // namespace

uint8_t* StageScratch() {
  thread_local const auto memory = Allocate(kStageBytes);
  return memory.get();
}

uint8_t* GatherScratch() {
  thread_local const auto memory = Allocate(kGatherBytes);
  return memory.get();
}

uint8_t* UnpackScratch() {
  thread_local const auto memory = Allocate(2 * kUnpackedBytes);
  return memory.get();
}

}  // namespace axis
