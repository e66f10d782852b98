#include "server/guard/watched_files.h"

#include "kernels/status.h"

namespace axis {

absl::StatusOr<std::unique_ptr<WatchedFiles>> WatchedFiles::Load(
    const Options& options, const Log& log, Metrics& metrics) {
  std::unique_ptr<WatchedFiles> files(new WatchedFiles(log, metrics));
  if (!options.tls_certificate.empty()) {
    AXIS_ASSIGN_OR_RETURN(
        files->certificates_,
        Certificates::Load(
            {options.tls_certificate, options.tls_key, options.tls_client_ca}));
    metrics.SetCertificateExpiry(files->certificates_->expiry());
  }
  if (!options.access_rules.empty()) {
    AXIS_ASSIGN_OR_RETURN(files->access_, Access::Load(options.access_rules));
  }
  return files;
}

void WatchedFiles::Reload() {
  if (certificates_ != nullptr) {
    Tell(Metrics::kCertificate, certificates_->Reload());
    metrics_.SetCertificateExpiry(certificates_->expiry());
  }
  if (access_ != nullptr) Tell(Metrics::kAccessRules, access_->Reload());
}

void WatchedFiles::Tell(Metrics::Reloaded which,
                        const absl::StatusOr<bool>& reloaded) {
  const char* const files =
      which == Metrics::kCertificate ? "--tls_certificate" : "--access_rules";
  if (!reloaded.ok()) {
    log_.Error("new files are ignored, the last good ones stand",
               {{"files", files}, {"why", reloaded.status().message()}});
    metrics_.SetReloaded(which, false);
  } else if (*reloaded) {
    log_.Info("new files are in use", {{"files", files}});
    metrics_.SetReloaded(which, true);
  }
}

}  // namespace axis
