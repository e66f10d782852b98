// The tensor service: takes calls off gRPC's completion queue and sends them
// through the corridor (server/call/corridor.h).
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "server/rpc/workshop.h"

namespace axis {

class TensorService {
 public:
  virtual ~TensorService() = default;

  // The values of the label `method`, in order; Metrics counts on from there.
  static std::vector<std::string> MethodNames();

  // To be registered with the server builder.
  virtual grpc::Service* service() = 0;

  // Begins to take calls. `queue` must be polled for Events until shut down.
  virtual void Start(grpc::ServerCompletionQueue* queue) = 0;
};

std::unique_ptr<TensorService> MakeTensorService(const Workshop& workshop);

}  // namespace axis
