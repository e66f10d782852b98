// What gRPC says of itself, as lines of our log.
#pragma once

#include "server/process/log.h"

namespace axis {

// While it lives, an error that gRPC tells of is a warning in `log`, one a
// second at most; that which ends the process comes at once. By itself gRPC
// would write a line for each to standard error, in a form of its own, and wait
// until it is read; and strangers can cause thousands, say by bytes that are
// not TLS.
//
// From 1.65 on gRPC has Abseil's log instead, which SilenceProtobuf() turns
// off.
class GrpcLog {
 public:
  explicit GrpcLog(const Log& log);
  ~GrpcLog();
  GrpcLog(const GrpcLog&) = delete;
  GrpcLog& operator=(const GrpcLog&) = delete;
};

}  // namespace axis
