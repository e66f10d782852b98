// Tensor bytes as gRPC holds them: shared slices that are never copied on the
// way in, and fresh memory that is never copied on the way out.
#pragma once

#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "kernels/copy/memory/buffer_pool.h"

namespace axis {

// A run of bytes held in shared, immutable slices, in order, none of them
// empty. Copying one copies references only.
class Payload {
 public:
  Payload() = default;
  explicit Payload(grpc::Slice slice) { Append(std::move(slice)); }
  explicit Payload(std::vector<grpc::Slice> slices);
  // Of a slice that has nothing to do with a connection: cheaper to let go of.
  static Payload Ours(grpc::Slice slice);
  ~Payload();
  Payload(const Payload&) = default;
  Payload(Payload&& other) noexcept { *this = std::move(other); }
  Payload& operator=(const Payload& other) { return *this = Payload(other); }
  Payload& operator=(Payload&& other) noexcept {
    slices_.swap(other.slices_);
    std::swap(size_, other.size_);
    std::swap(is_ours_, other.is_ours_);
    return *this;
  }

  int64_t size() const { return size_; }
  const std::vector<grpc::Slice>& slices() const { return slices_; }

  void Append(grpc::Slice slice);

  // Bytes [begin, begin + size), sharing the slices.
  // REQUIRES: 0 <= begin, 0 <= size, begin + size <= this->size().
  Payload Sub(int64_t begin, int64_t size) const;

  // Keeps bytes [begin, begin + size) only.
  // REQUIRES: as of Sub(); the message that the slices are of lives.
  void Narrow(int64_t begin, int64_t size);

  // The bytes, one span for each slice. Valid while this payload is neither
  // moved nor changed: a slice of a few bytes holds them inside the object.
  absl::InlinedVector<std::span<const std::byte>, 4> Spans() const;

 private:
  std::vector<grpc::Slice> slices_;
  int64_t size_ = 0;
  bool is_ours_ = true;  // no slice may be memory of a connection
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
