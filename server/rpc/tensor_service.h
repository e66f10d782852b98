// The tensor service: takes calls off gRPC's completion queue and sends them
// through the corridor (server/call/corridor.h).
#pragma once

#include <grpcpp/grpcpp.h>
#include <tbb/task_arena.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/buffer_pool.h"
#include "server/process/admission.h"
#include "server/process/log.h"
#include "server/process/metrics.h"

namespace axis {

// What the service works with; all of it must outlive the service.
struct Workshop {
  Admission& admission;
  BufferPool& pool;
  Metrics& metrics;
  const Log& log;
  tbb::task_arena& arena;     // large calls compute here, small ones inline
  int64_t max_message_bytes;  // of a request or a response
  bool access_log;            // a line for every call
};

class TensorService {
 public:
  virtual ~TensorService() = default;

  // The values of the label `method`, in the order Metrics::Record wants.
  static std::vector<std::string> MethodNames();

  // To be registered with the server builder.
  virtual grpc::Service* service() = 0;

  // Begins to take calls. `queue` must be polled for Events until shut down.
  virtual void Start(grpc::ServerCompletionQueue* queue) = 0;
};

std::unique_ptr<TensorService> MakeTensorService(const Workshop& workshop);

}  // namespace axis
