// The standard health service, on our own completion queue: gRPC's default one
// uses the callback API, which stalls up to 100 ms after an idle second.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "server/queue/event.h"

namespace axis {

// Thread-safe.
class Health {
 public:
  virtual ~Health() = default;

  // To be registered with the server builder.
  virtual grpc::Service* service() = 0;

  // Begins to take calls. `queue` must be polled for Events, and not be shut
  // down as long as there are `live_calls`.
  virtual void Start(grpc::ServerCompletionQueue* queue,
                     LiveCalls& live_calls) = 0;

  // Says whether `name` can take calls; watchers are told.
  virtual void Set(const std::string& name, bool serving) = 0;

  // Ends all watches, which would keep the server from shutting down.
  virtual void EndWatches() = 0;
};

std::unique_ptr<Health> MakeHealth();

}  // namespace axis
