// The messages of a stream on their way in: they wait until what came before
// has been moved, and are inflated one at a time.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <deque>
#include <optional>

#include "absl/status/statusor.h"
#include "kernels/status.h"
#include "server/call/corridor.h"
#include "server/wire/inflate.h"

namespace axis {

class Inflow {
 public:
  // What a message counts for where bytes are limited: small ones for more
  // than they hold, compressed ones for as much as is not done in passing.
  static int64_t CostOf(const grpc::ByteBuffer& message) {
    return static_cast<int64_t>(message.Length()) + (1 << 10) +
           (IsCompressed(message) ? 2 << 20 : 0);
  }

  // Takes what `message` holds.
  void Add(grpc::ByteBuffer& message) {
    cost_ += CostOf(message);
    waiting_.emplace_back().Swap(&message);
  }

  bool empty() const { return waiting_.empty(); }
  int64_t cost() const { return cost_; }

  // The next message, inflated. What that takes is held until Release().
  // Errors: as Inflate(); also if the message is too large as it came
  // REQUIRES: !empty()
  absl::StatusOr<grpc::ByteBuffer> Next(const CallContext& call,
                                        Admission& admission) {
    grpc::ByteBuffer message;
    message.Swap(&waiting_.front());
    waiting_.pop_front();
    cost_ -= CostOf(message);
    AXIS_RETURN_IF_ERROR(
        CheckRequestBytes(static_cast<int64_t>(message.Length()), call));
    if (!IsCompressed(message)) return message;
    if (!inflated_) inflated_.emplace(admission);
    AXIS_RETURN_IF_ERROR(
        Inflate(message, {call.max_message_bytes, *inflated_, call.pool,
                          call.report, call.is_over}));
    return message;
  }

  // Nothing of what was inflated is there any more.
  void Release() { inflated_.reset(); }

  void Clear() {
    waiting_.clear();
    Release();
  }

 private:
  std::deque<grpc::ByteBuffer> waiting_;
  int64_t cost_ = 0;
  std::optional<Admission::Lease> inflated_;
};

}  // namespace axis
