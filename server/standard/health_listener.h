// A port of its own for health, in plaintext: kubelets, and many balancers,
// speak no TLS. Nothing else is served there.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/standard/health.h"

namespace axis {

class HealthListener {
 public:
  // Listens on `address`, "host:port" or "unix:PATH"; who connects has
  // `handshake_timeout` to introduce itself.
  // Errors: kUnavailable  cannot
  static absl::StatusOr<std::unique_ptr<HealthListener>> Start(
      const std::string& address, absl::Duration handshake_timeout);
  virtual ~HealthListener() = default;

  // What it tells; ends with it.
  virtual Health& health() = 0;
};

}  // namespace axis
