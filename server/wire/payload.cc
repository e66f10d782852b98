#include "server/wire/payload.h"

#include <grpcpp/support/byte_buffer.h>

#include <algorithm>
#include <new>
#include <utility>

#include "kernels/handover.h"

namespace axis {

// Under pressure the last reference to memory of a connection makes gRPC go and
// find more. Debian's 1.51 crashes then, unless a call of its own is under way
// on the thread: that it lets go of a message is one, of a slice is not.
Payload::~Payload() {
  if (slices_.empty()) return;
  if (is_ours_) {
    for (const grpc::Slice& slice : slices_)
      HandOver(const_cast<uint8_t*>(slice.begin()));  // see NewBuffer()
    return;
  }
  const grpc::ByteBuffer last(slices_.data(), slices_.size());
  slices_.clear();
}

Payload::Payload(std::vector<grpc::Slice> slices)
    : slices_(std::move(slices)), is_ours_(false) {
  std::erase_if(slices_, [](const auto& slice) { return slice.size() == 0; });
  for (const grpc::Slice& slice : slices_)
    size_ += static_cast<int64_t>(slice.size());
}

Payload Payload::Ours(grpc::Slice slice) {
  Payload payload(std::move(slice));
  payload.is_ours_ = true;
  return payload;
}

void Payload::Append(grpc::Slice slice) {
  if (slice.size() == 0) return;
  size_ += static_cast<int64_t>(slice.size());
  slices_.push_back(std::move(slice));
  is_ours_ = false;
}

Payload Payload::Sub(int64_t begin, int64_t size) const {
  Payload out;
  for (const grpc::Slice& slice : slices_) {
    if (size == 0) break;
    const int64_t n = static_cast<int64_t>(slice.size());
    if (begin >= n) {
      begin -= n;
      continue;
    }
    const int64_t taken = std::min(size, n - begin);
    out.Append(slice.sub(static_cast<size_t>(begin),
                         static_cast<size_t>(begin + taken)));
    size -= taken;
    begin = 0;
  }
  out.is_ours_ = is_ours_;
  return out;
}

void Payload::Narrow(int64_t begin, int64_t size) {
  size_ = size;
  auto first = slices_.begin();
  while (begin > 0 && begin >= static_cast<int64_t>(first->size()))
    begin -= static_cast<int64_t>((first++)->size());
  auto last = first;
  for (; size > 0; ++last) {
    const int64_t n = static_cast<int64_t>(last->size());
    const int64_t kept = std::min(size, n - begin);
    if (kept < n)
      *last = last->sub(static_cast<size_t>(begin),
                        static_cast<size_t>(begin + kept));
    size -= kept;
    begin = 0;
  }
  slices_.erase(last, slices_.end());
  slices_.erase(slices_.begin(), first);
}

absl::InlinedVector<std::span<const std::byte>, 4> Payload::Spans() const {
  absl::InlinedVector<std::span<const std::byte>, 4> spans;
  spans.reserve(slices_.size());
  for (const grpc::Slice& slice : slices_) {
    spans.emplace_back(reinterpret_cast<const std::byte*>(slice.begin()),
                       slice.size());
  }
  return spans;
}

Buffer NewBuffer(BufferPool& pool, int64_t size) {
  PooledBuffer buffer = pool.Get(size);
  if (buffer == nullptr) throw std::bad_alloc();
  std::byte* const data = buffer.release();
  HandOver(data);
  // A slice made this way refers to `data` however small it is. gRPC lets go
  // of it on any thread, possibly long after the call.
  return {data, Payload::Ours(
                    grpc::Slice(data, static_cast<size_t>(size), [](void* p) {
                      TakeOver(p);
                      ReturnToPool()(static_cast<std::byte*>(p));
                    }))};
}

}  // namespace axis
