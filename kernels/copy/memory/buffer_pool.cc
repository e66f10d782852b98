#include "kernels/copy/memory/buffer_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdlib>
#include <new>
#include <utility>

// A sanitizer then reports whoever touches a buffer after returning it.
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size)
#define ASAN_UNPOISON_MEMORY_REGION(address, size)
#endif

namespace axis {
namespace {

constexpr int kLeastExponent = 12;
constexpr size_t kLeastBlock = size_t{1} << kLeastExponent;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kGreatestBlock = size_t{1} << 46;

size_t RoundUp(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

// The size class of a block of `bytes`; REQUIRES: bytes <= kGreatestBlock.
size_t BlockBytes(size_t bytes) {
  bytes = std::max(bytes, kLeastBlock);
  bytes = RoundUp(bytes, std::bit_floor(bytes) / 8);
  return bytes > kHugePage ? RoundUp(bytes, kHugePage) : bytes;
}

// `bytes` of fresh memory on a multiple of kHugePage, or null.
void* MapHugePages(size_t bytes) {
  // The system aligns to small pages only: map more, and cut off both ends.
  void* const map = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(map);
  const size_t before = RoundUp(reinterpret_cast<uintptr_t>(map), kHugePage) -
                        reinterpret_cast<uintptr_t>(map);
  if (before > 0) munmap(begin, before);
  munmap(begin + before + bytes, kHugePage - before);
  // Only advice: without it the memory is slower to touch, not wrong.
  (void)madvise(begin + before, bytes, MADV_HUGEPAGE);
  return begin + before;
}

void* Allocate(size_t bytes) {
  return bytes >= kHugePage ? MapHugePages(bytes)
                            : std::aligned_alloc(BufferPool::kAlignment, bytes);
}

void Free(void* memory, size_t bytes) {
  if (bytes >= kHugePage) {
    munmap(memory, bytes);
  } else {
    std::free(memory);
  }
}

}  // namespace

// The first bytes of each block; head-room and payload follow.
struct alignas(BufferPool::kAlignment) BufferPool::Block {
  size_t bytes;                                // of the whole block
  std::shared_ptr<BufferPool> pool = nullptr;  // while the block is in use
  // While it is idle:
  Clock::time_point returned_at = {};
  Block* newer = nullptr;
  Block* older = nullptr;

  std::byte* data() {
    return reinterpret_cast<std::byte*>(this) + sizeof(Block) + kHeadRoom;
  }
  static Block* Of(std::byte* data) {
    return reinterpret_cast<Block*>(data - kHeadRoom - sizeof(Block));
  }
  std::byte* body() { return reinterpret_cast<std::byte*>(this + 1); }
  size_t body_bytes() const { return bytes - sizeof(Block); }

  // Gives a chain of blocks, linked by `older`, back to the system.
  static int64_t FreeChain(Block* chain) {
    int64_t freed = 0;
    while (chain != nullptr) {
      Block* const next = chain->older;
      const size_t bytes = chain->bytes;
      freed += static_cast<int64_t>(bytes);
      ASAN_UNPOISON_MEMORY_REGION(chain->body(), chain->body_bytes());
      chain->~Block();
      Free(chain, bytes);
      chain = next;
    }
    return freed;
  }
};

void ReturnToPool::operator()(std::byte* data) const noexcept {
  BufferPool::Block* const block = BufferPool::Block::Of(data);
  // Outlives Return(): the last buffer may take the pool with it.
  const std::shared_ptr<BufferPool> pool = std::move(block->pool);
  pool->Return(block);
}

BufferPool::~BufferPool() { Block::FreeChain(TakeOldest(0)); }

size_t BufferPool::ClassOf(size_t block_bytes) {
  const int exponent = std::countr_zero(std::bit_floor(block_bytes));
  return static_cast<size_t>(exponent - kLeastExponent) * 8 +
         ((block_bytes >> (exponent - 3)) & 7);
}

void BufferPool::Unlink(IdleList& list, Block* block) {
  (block->newer != nullptr ? block->newer->older : list.front) = block->older;
  (block->older != nullptr ? block->older->newer : list.back) = block->newer;
  block->newer = block->older = nullptr;
}

PooledBuffer BufferPool::Get(int64_t bytes) {
  assert(bytes >= 0);
  constexpr size_t kFront = sizeof(Block) + kHeadRoom;
  static_assert(kFront % kAlignment == 0 && kFront < kLeastBlock);
  if (static_cast<size_t>(bytes) > kGreatestBlock - kFront) return nullptr;
  const size_t block_bytes = BlockBytes(static_cast<size_t>(bytes) + kFront);
  Block* block;
  {
    const std::lock_guard lock(mutex_);
    IdleList& list = idle_[ClassOf(block_bytes)];
    // The one returned last is the most likely to be in a cache still.
    block = list.front;
    if (block != nullptr) {
      Unlink(list, block);
      idle_bytes_ -= static_cast<int64_t>(block_bytes);
      live_bytes_ += static_cast<int64_t>(block_bytes);
    }
  }
  if (block == nullptr) {
    void* const memory = Allocate(block_bytes);
    if (memory == nullptr) return nullptr;
    block = new (memory) Block{.bytes = block_bytes};
    const std::lock_guard lock(mutex_);
    live_bytes_ += static_cast<int64_t>(block_bytes);
  }
  block->pool = shared_from_this();
  ASAN_UNPOISON_MEMORY_REGION(block->body(), block->body_bytes());
  return PooledBuffer(block->data());
}

void BufferPool::Return(Block* block) noexcept {
  const int64_t bytes = static_cast<int64_t>(block->bytes);
  ASAN_POISON_MEMORY_REGION(block->body(), block->body_bytes());
  Block* evicted = block;
  {
    const std::lock_guard lock(mutex_);
    live_bytes_ -= bytes;
    if (bytes <= max_idle_bytes_) {
      // The newcomer stays and the oldest go: what was used last is what the
      // next request looks like.
      evicted = TakeOldest(max_idle_bytes_ - bytes);
      idle_bytes_ += bytes;
      IdleList& list = idle_[ClassOf(block->bytes)];
      block->returned_at = Clock::now();
      block->older = list.front;
      (list.front != nullptr ? list.front->newer : list.back) = block;
      list.front = block;
    }
  }
  Block::FreeChain(evicted);
}

BufferPool::Block* BufferPool::TakeOldest(int64_t idle_bytes) {
  Block* chain = nullptr;
  while (idle_bytes_ > idle_bytes) {
    IdleList* oldest = nullptr;
    for (IdleList& list : idle_)
      if (list.back != nullptr &&
          (oldest == nullptr ||
           list.back->returned_at < oldest->back->returned_at))
        oldest = &list;
    Block* const block = oldest->back;  // NOLINT: there is one, of idle_bytes_
    Unlink(*oldest, block);
    idle_bytes_ -= static_cast<int64_t>(block->bytes);
    block->older = chain;
    chain = block;
  }
  return chain;
}

int64_t BufferPool::Trim(Clock::duration age) {
  Block* chain = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const Clock::time_point cutoff = Clock::now() - age;
    for (IdleList& list : idle_)
      while (list.back != nullptr && list.back->returned_at <= cutoff) {
        Block* const block = list.back;
        Unlink(list, block);
        idle_bytes_ -= static_cast<int64_t>(block->bytes);
        block->older = chain;
        chain = block;
      }
  }
  return Block::FreeChain(chain);
}

BufferPool::Stats BufferPool::GetStats() const {
  const std::lock_guard lock(mutex_);
  return {live_bytes_, idle_bytes_};
}

}  // namespace axis
