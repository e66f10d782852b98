// The one place where an absl::Status becomes a grpc::Status.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace axis {

// `status`, telling the client when to try again: for a server that is full,
// not for a request that is too large.
// REQUIRES: delay is finite and at least 0.
absl::Status WithRetry(absl::Status status, absl::Duration delay);

// What a call ends with for which the system had no memory left.
absl::Status OutOfMemory();

// The codes are the same by design of both libraries. The details hold a
// google.rpc.Status with a google.rpc.BadRequest if the status names a field
// (kernels/status.h), then the message reads "field: why", and a
// google.rpc.RetryInfo if it has a delay.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace axis
