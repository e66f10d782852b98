// Unary calls on the completion queue: bytes in, bytes out, whatever service
// they belong to.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "server/call/corridor.h"
#include "server/rpc/workshop.h"

namespace axis {

using RawWriter = grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>;

// Where calls come from and who serves them: method number `method`, called
// `name`.
struct UnaryMethod {
  const char* name;
  size_t method;
  // Asks gRPC for the next call.
  std::function<void(grpc::ServerContext*, grpc::ByteBuffer*, RawWriter*,
                     void* tag)>
      request;
  // Serves one; the request is not compressed, and within the limit.
  std::function<absl::Status(grpc::ByteBuffer& request,
                             grpc::ByteBuffer& response, const CallContext&)>
      serve;
  // Whether to serve a request on the polling thread, which is not compressed.
  std::function<bool(const grpc::ByteBuffer& request)> is_light;
  pb::MethodGroup group;  // of access
};

// Waits for the next call, and whenever one comes for another.
// `method` and `workshop` must outlive them.
void AwaitCall(const UnaryMethod& method, const Workshop& workshop);

}  // namespace axis
