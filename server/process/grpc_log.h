// What gRPC says of itself, as lines of our log.
#pragma once

#include "server/process/log.h"

namespace axis {

// While it lives, errors that gRPC tells of are warnings in `log`, one a second
// at most; notes are, likewise, notes; what ends the process comes at once. By
// itself gRPC would write a line for each to standard error, in a form of its
// own, and wait until it is read; and strangers can cause thousands, say by
// bytes that are not TLS.
//
// From 1.65 on gRPC has Abseil's log, of which protobuf's part is left out.
class GrpcLog {
 public:
  explicit GrpcLog(const Log& log);
  ~GrpcLog();
  GrpcLog(const GrpcLog&) = delete;
  GrpcLog& operator=(const GrpcLog&) = delete;
};

}  // namespace axis
