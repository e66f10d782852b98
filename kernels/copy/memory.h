// Memory for the time of a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/copy/buffer_pool.h"

namespace axis {

// `bytes` of `pool`, or of the heap if there is none or it has none left.
class Memory {
 public:
  Memory(int64_t bytes, BufferPool* pool) {
    if (pool != nullptr) pooled_ = pool->Get(bytes);
    if (pooled_ == nullptr)
      heap_.reset(new std::byte[static_cast<size_t>(bytes)]);
  }

  std::byte* data() const {
    return pooled_ != nullptr ? pooled_.get() : heap_.get();
  }

 private:
  PooledBuffer pooled_;
  std::unique_ptr<std::byte[]> heap_;
};

}  // namespace axis
