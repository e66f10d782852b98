// Pooled memory for whatever a request writes: its outputs and joined inputs.
//
// Touching fresh pages costs more than any kernel (4.5 GB/s against 40 and
// more), so that memory is kept between requests instead of given back.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace axis {

// Hands the memory back to its pool; from any thread, at any time, and also
// after everybody else has let go of the pool.
struct ReturnToPool {
  void operator()(std::byte* data) const noexcept;
};

// The bytes of a buffer. release() makes a plain pointer of it, which a C
// callback may later give to ReturnToPool.
using PooledBuffer = std::unique_ptr<std::byte[], ReturnToPool>;

// A pool of memory blocks. Thread-safe. Create it with std::make_shared: every
// buffer in use keeps its pool alive.
//
// Blocks come in size classes: eight to each power of two, at least 4 KiB, and
// above 2 MiB multiples of 2 MiB. Those of 2 MiB and more lie on huge pages
// where the system grants them.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  using Clock = std::chrono::steady_clock;

  // Every buffer starts on a multiple of kAlignment, and the kHeadRoom bytes
  // in front of it belong to its user too: the header of a message can be
  // written there, so that header and payload are one piece of memory.
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kHeadRoom = 512;

  // Keeps at most `max_idle_bytes` that nobody uses; 0 keeps nothing.
  explicit BufferPool(int64_t max_idle_bytes)
      : max_idle_bytes_(max_idle_bytes) {}
  ~BufferPool();

  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // A buffer of at least `bytes` bytes, of unspecified contents; null if the
  // system has no memory left.
  // REQUIRES: 0 <= bytes.
  PooledBuffer Get(int64_t bytes);

  // Gives back to the system what has been idle for at least `age`. Returns
  // how many bytes that were.
  int64_t Trim(Clock::duration age);

  struct Stats {
    int64_t live_bytes;  // of the blocks in use
    int64_t idle_bytes;  // of the blocks kept for the next
  };
  Stats GetStats() const;

 private:
  friend struct ReturnToPool;
  struct Block;
  // Idle blocks of one size, the one returned last at the front.
  struct IdleList {
    Block* front = nullptr;
    Block* back = nullptr;
  };
  // Up to 2^46 bytes, half of what an address space holds.
  static constexpr size_t kClasses = size_t{46 - 12 + 1} * 8;

  static size_t ClassOf(size_t block_bytes);
  static void Unlink(IdleList& list, Block* block);
  void Return(Block* block) noexcept;
  // Takes idle blocks, oldest first, until at most `idle_bytes` are left;
  // returns them as a chain.
  Block* TakeOldest(int64_t idle_bytes);

  const int64_t max_idle_bytes_;
  mutable std::mutex mutex_;
  std::array<IdleList, kClasses> idle_;  // all below: guarded by mutex_
  int64_t idle_bytes_ = 0;
  int64_t live_bytes_ = 0;
};

}  // namespace axis
