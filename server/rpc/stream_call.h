// Streaming calls on the completion queue: messages come and go while the
// tensor between them is rearranged (server/stream/stream.h).
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <functional>

#include "server/rpc/workshop.h"

namespace axis {

using RawStream =
    grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

// Where streams come from: method number `method`, called `name`.
struct StreamMethod {
  const char* name;
  size_t method;
  // Asks gRPC for the next call.
  std::function<void(grpc::ServerContext*, RawStream*, void* tag)> request;
  pb::MethodGroup group;  // of access
};

// Waits for the next stream, and whenever one comes for another.
// `method` and `workshop` must outlive them.
void AwaitStream(const StreamMethod& method, const Workshop& workshop);

}  // namespace axis
