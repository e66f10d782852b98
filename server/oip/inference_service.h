// The inference service: the Open Inference Protocol in front of the corridor.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "server/models/repository.h"
#include "server/rpc/workshop.h"
#include "server/shm/regions.h"

namespace axis {

class InferenceService {
 public:
  virtual ~InferenceService() = default;

  // The values of the label `method`, in order.
  static std::vector<std::string> MethodNames();

  // To be registered with the server builder.
  virtual grpc::Service* service() = 0;

  // Begins to take calls. `queue` must be polled for Events until shut down.
  virtual void Start(grpc::ServerCompletionQueue* queue) = 0;

  // What ServerReady and ModelReady say; thread-safe. At first they say yes.
  virtual void SetReady(bool is_ready) = 0;
};

// Metrics count the methods from number `first_method`. All that is given must
// outlive the service.
std::unique_ptr<InferenceService> MakeInferenceService(
    const Workshop& workshop, const Repository& repository, Regions& regions,
    size_t first_method);

}  // namespace axis
