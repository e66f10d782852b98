// The corridor: the whole way of a request, room by room, without gRPC calls.
//
// Unpack -> Decode -> CompileProgram -> Execute -> Encode -> Pack. Bytes go
// through in one direction; nothing fails once the first byte has moved.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <functional>

#include "absl/status/status.h"
#include "kernels/buffer_pool.h"
#include "server/process/admission.h"
#include "server/process/metrics.h"

namespace axis {

// What a call needs beside its bytes.
struct CallContext {
  int64_t max_message_bytes;      // of the response; the request's was checked
  Admission::Lease& lease;        // what the call holds
  BufferPool& pool;               // where its memory comes from
  CallReport& report;             // where the rooms write what they did
  std::function<bool()> is_over;  // the client gave up or its time is up
};

// Serves the bytes of a `Request` of axis.v1; clears `request` as soon as
// nobody reads it any more.
template <class Request>
absl::Status Serve(grpc::ByteBuffer& request, grpc::ByteBuffer& response,
                   const CallContext& call);

}  // namespace axis
