// Memory for outputs of streams: written once, then shared with gRPC bit by
// bit.
#pragma once

#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "kernels/copy/memory/buffer_pool.h"

namespace axis {

// Bytes that live until nobody shares them any more.
class OutputSpace : public std::enable_shared_from_this<OutputSpace> {
 public:
  // `bytes` bytes of `pool`, which are warm. Throws std::bad_alloc if there are
  // none. REQUIRES: bytes >= 0.
  static std::shared_ptr<OutputSpace> Of(BufferPool& pool, int64_t bytes);

  // `bytes` of address space, which may be more than the machine has memory:
  // pages come when first written; those that have been shared and let go of
  // again, from the first on, are given back to the system. Throws
  // std::bad_alloc if the system does not have so many addresses.
  // REQUIRES: bytes >= 0.
  static std::shared_ptr<OutputSpace> Reserve(int64_t bytes);
  ~OutputSpace();
  OutputSpace(const OutputSpace&) = delete;
  OutputSpace& operator=(const OutputSpace&) = delete;

  std::byte* data() const { return data_; }

  // Bytes [begin, end), which nobody writes any more. gRPC may let go of them
  // on any thread and long after the call; they keep this object alive.
  // REQUIRES: begin < end; begin is the end of the slice shared before, or 0.
  grpc::Slice Share(int64_t begin, int64_t end);

 private:
  struct Shared;
  OutputSpace(void* map, size_t map_bytes, std::byte* data)
      : map_(map), map_bytes_(map_bytes), data_(data) {}
  explicit OutputSpace(PooledBuffer pooled)
      : pooled_(std::move(pooled)), data_(pooled_.get()) {}
  void Release(int64_t begin, int64_t end);

  const PooledBuffer pooled_;
  void* const map_ = nullptr;  // unless it is pooled
  const size_t map_bytes_ = 0;
  std::byte* const data_;

  std::mutex mutex_;
  std::map<int64_t, int64_t> released_;  // out of order: begins and ends
  int64_t released_to_ = 0;
  int64_t given_back_to_ = 0;
};

}  // namespace axis
