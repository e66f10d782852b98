// Tensor bytes as gRPC holds them: shared slices that are never copied on the
// way in, and fresh memory that is never copied on the way out.
#pragma once

#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/copy/buffer_pool.h"

namespace axis {

// A run of bytes held in shared, immutable slices, in order, none of them
// empty. Copying one copies references only.
class Payload {
 public:
  Payload() = default;
  explicit Payload(grpc::Slice slice) { Append(std::move(slice)); }
  ~Payload();
  Payload(const Payload&) = default;
  Payload(Payload&& other) noexcept { *this = std::move(other); }
  Payload& operator=(const Payload& other) { return *this = Payload(other); }
  Payload& operator=(Payload&& other) noexcept {
    slices_.swap(other.slices_);
    std::swap(size_, other.size_);
    return *this;
  }

  int64_t size() const { return size_; }
  const std::vector<grpc::Slice>& slices() const { return slices_; }

  void Append(grpc::Slice slice);

  // Bytes [begin, begin + size), sharing the slices.
  // REQUIRES: 0 <= begin, 0 <= size, begin + size <= this->size().
  Payload Sub(int64_t begin, int64_t size) const;

  // The bytes, one span for each slice. Valid while this payload is neither
  // moved nor changed: a slice of a few bytes holds them inside the object.
  std::vector<std::span<const std::byte>> Spans() const;

 private:
  std::vector<grpc::Slice> slices_;
  int64_t size_ = 0;
};

// Memory to be written once, then shared.
struct Buffer {
  std::byte* data;  // `payload.size()` writable bytes, 64-byte aligned
  Payload payload;  // the same bytes; frees them with its last reference
};

// Uninitialized memory of `pool`. Throws std::bad_alloc if there is none.
// REQUIRES: size >= 0.
Buffer NewBuffer(BufferPool& pool, int64_t size);

}  // namespace axis
