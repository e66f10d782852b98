// Traces: by what a call is known to its client and to those before it.
#pragma once

#include <grpcpp/server_context.h>

#include <string>

#include "absl/strings/string_view.h"

namespace axis {

// All empty where the client said nothing.
struct Trace {
  std::string request_id;   // `x-request-id`, or an id of the message
  std::string traceparent;  // of W3C Trace Context, if it is well-formed
  absl::string_view trace_id() const;  // the trace that it names
};

// What the metadata of a call says, which then goes back with the answer. Must
// come before anything is sent.
Trace TakeTrace(grpc::ServerContext& context);

}  // namespace axis
