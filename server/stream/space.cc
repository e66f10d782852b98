#include "server/stream/space.h"

#include <sys/mman.h>

#include <new>

#include "kernels/handover.h"
#include "server/process/out_of_memory.h"

namespace axis {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;

}  // namespace

std::shared_ptr<OutputSpace> OutputSpace::Of(BufferPool& pool, int64_t bytes) {
  PooledBuffer pooled = pool.Get(bytes);
  if (pooled == nullptr) throw std::bad_alloc();
  return std::shared_ptr<OutputSpace>(new OutputSpace(std::move(pooled)));
}

std::shared_ptr<OutputSpace> OutputSpace::Reserve(int64_t bytes) {
  // The system aligns to small pages only: map more than is needed.
  const size_t size = static_cast<size_t>(bytes) + kHugePage;
  void* const map = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  const auto address = reinterpret_cast<uintptr_t>(map);
  const auto skip = -address & static_cast<uintptr_t>(kHugePage - 1);
  auto* const data = static_cast<std::byte*>(map) + skip;
  // Only advice: without it the memory is slower to touch, not wrong.
  if (bytes >= kHugePage)
    (void)madvise(data, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  return std::shared_ptr<OutputSpace>(new OutputSpace(map, size, data));
}

OutputSpace::~OutputSpace() {
  if (map_ != nullptr) munmap(map_, map_bytes_);
}

struct OutputSpace::Shared {
  std::shared_ptr<OutputSpace> space;
  int64_t begin, end;
};

grpc::Slice OutputSpace::Share(int64_t begin, int64_t end) {
  auto* const shared = new Shared{shared_from_this(), begin, end};
  HandOver(shared);
  return grpc::Slice(
      data_ + begin, static_cast<size_t>(end - begin),
      [](void* p) {
        const WaitsForMemory scope;  // gRPC is C, and calls from anywhere
        TakeOver(p);
        const std::unique_ptr<Shared> shared(static_cast<Shared*>(p));
        shared->space->Release(shared->begin, shared->end);
      },
      shared);
}

void OutputSpace::Release(int64_t begin, int64_t end) {
  if (map_ == nullptr) return;  // the pool takes it all at once
  const std::lock_guard lock(mutex_);
  released_.emplace(begin, end);
  while (!released_.empty() && released_.begin()->first == released_to_) {
    released_to_ = released_.begin()->second;
    released_.erase(released_.begin());
  }
  // Whole huge pages only: to cut one up would cost more than it gives back.
  const int64_t to = released_to_ / kHugePage * kHugePage;
  if (to == given_back_to_) return;
  (void)madvise(data_ + given_back_to_,
                static_cast<size_t>(to - given_back_to_), MADV_DONTNEED);
  given_back_to_ = to;
}

}  // namespace axis
