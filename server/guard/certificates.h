// The certificates of TLS: files that may be replaced at any time, of which
// the last good ones stand.
//
// gRPC's own watcher takes whatever it finds, and while that is garbage every
// handshake fails. So the files are read and tried here, and gRPC watches
// copies in memory, which are replaced as a whole.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace axis {

// Where they lie, all in PEM.
struct CertificateFiles {
  std::string certificate;  // ours first, then those that vouch for it
  std::string key;
  std::string client_ca;  // who vouches for clients; empty: not asked for
};

// Not thread-safe, but for the credentials.
class Certificates {
 public:
  virtual ~Certificates() = default;

  // Errors: kInvalidArgument, kNotFound  a file is not what it must be
  static absl::StatusOr<std::unique_ptr<Certificates>> Load(
      const CertificateFiles& files);

  // For ports of a server. Clients without a certificate are turned away if
  // `client_ca` is given and `requires_client_certificate`.
  virtual std::shared_ptr<grpc::ServerCredentials> Credentials(
      bool requires_client_certificate) const = 0;

  // Reads the files again. New handshakes use what was found within a second.
  // Gives true if there was something new.
  // Errors: as Load(), once for each new content; the last good one stands
  virtual absl::StatusOr<bool> Reload() = 0;

  // When our certificate ends.
  virtual absl::Time expiry() const = 0;
};

}  // namespace axis
