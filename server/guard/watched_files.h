// The files that say who may come in, read again while the server runs.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "server/guard/access.h"
#include "server/guard/certificates.h"
#include "server/options.h"
#include "server/process/log.h"
#include "server/process/metrics.h"

namespace axis {

class WatchedFiles {
 public:
  // Those that `options` name; log and metrics learn of what becomes of them,
  // and must outlive this.
  // Errors: one is not what it must be
  static absl::StatusOr<std::unique_ptr<WatchedFiles>> Load(
      const Options& options, const Log& log, Metrics& metrics);

  // Looks at them again, to be called about once a second.
  void Reload();

  const Certificates* certificates() const { return certificates_.get(); }
  const Access* access() const { return access_.get(); }

 private:
  WatchedFiles(const Log& log, Metrics& metrics)
      : log_(log), metrics_(metrics) {}

  void Tell(Metrics::Reloaded which, const absl::StatusOr<bool>& reloaded);

  const Log& log_;
  Metrics& metrics_;
  std::unique_ptr<Certificates> certificates_;  // null: no TLS
  std::unique_ptr<Access> access_;              // null: no rules
};

}  // namespace axis
