// Compressed messages: gRPC would inflate them without a bound, so its own
// decompression is off and they are inflated here, in steps.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "absl/status/status.h"
#include "server/call/corridor.h"

namespace axis {

// Whether `message` came as gzip or deflate.
bool IsCompressed(const grpc::ByteBuffer& message);

// Replaces a compressed `message` by what it holds; leaves any other alone.
// Takes the memory from the lease of the call before every step.
// Errors: kInvalidArgument    not one whole stream of its algorithm
//         kResourceExhausted  holds more than call.max_message_bytes, or the
//                             server is full
//         kCancelled          the call is over
absl::Status Inflate(grpc::ByteBuffer& message, const CallContext& call);

}  // namespace axis
