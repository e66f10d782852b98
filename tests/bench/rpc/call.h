// Calls over a completion queue that neither parse nor copy what they carry.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <vector>

#include "tests/bench/rpc/workload.h"

namespace axis::bench {

class Call;

// What the completion queue hands back: an operation of a call has ended.
struct Tag {
  Call* call;
  int operation;
};

// Makes one call after the other, all the same.
class Call {
 public:
  virtual ~Call() = default;

  virtual void Start(grpc::GenericStub& stub, grpc::CompletionQueue& queue) = 0;

  // Takes the end of an operation. Returns whether the call is over; then it
  // may be started again.
  virtual bool Proceed(int operation, bool ok) = 0;

  // Of the last call.
  const grpc::Status& status() const { return status_; }
  size_t received_bytes() const { return received_bytes_; }
  // All that was received, if it was to be kept.
  const std::vector<grpc::ByteBuffer>& responses() const { return responses_; }

 protected:
  grpc::Status status_;
  size_t received_bytes_ = 0;
  std::vector<grpc::ByteBuffer> responses_;
};

// `exchange` must outlive the call.
std::unique_ptr<Call> MakeCall(const Exchange& exchange, bool keep_responses);

}  // namespace axis::bench
