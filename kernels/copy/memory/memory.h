// Memory for the time of a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/copy/memory/buffer_pool.h"

namespace axis {

// `bytes` of `pool`, or of the heap if they are few, if there is no pool or it
// has none left.
class Memory {
 public:
  Memory(int64_t bytes, BufferPool* pool) {
    if (pool != nullptr && bytes >= kLeastPooled) pooled_ = pool->Get(bytes);
    if (pooled_ == nullptr)
      heap_.reset(new std::byte[static_cast<size_t>(bytes)]);
  }

  std::byte* data() const {
    return pooled_ != nullptr ? pooled_.get() : heap_.get();
  }

 private:
  // Less is as well had of the heap, and would only lie about in the pool.
  static constexpr int64_t kLeastPooled = 64 << 10;

  PooledBuffer pooled_;
  std::unique_ptr<std::byte[]> heap_;
};

}  // namespace axis
