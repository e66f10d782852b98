// Streaming calls in which every request gets one response, in order, and one
// that fails does not end the stream.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <functional>

#include "server/call/corridor.h"
#include "server/rpc/stream_call.h"
#include "server/rpc/workshop.h"

namespace axis {

struct ExchangeMethod {
  StreamMethod stream;
  // Answers a message, whatever it is, which may be compressed. If the report
  // of the call has an error already, that is the answer.
  std::function<grpc::ByteBuffer(grpc::ByteBuffer&, const CallContext&)> answer;
  // As of UnaryMethod.
  std::function<bool(const grpc::ByteBuffer& message)> is_light;
};

// Waits for the next stream, and whenever one comes for another.
// `method` and `workshop` must outlive them.
void AwaitExchange(const ExchangeMethod& method, const Workshop& workshop);

}  // namespace axis
