// Access: the rules of who may call what, in a file that may be replaced while
// the server runs.
#pragma once

#include <grpcpp/server_context.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "axis/v1/access.pb.h"

namespace axis {

namespace pb = ::axis::v1;

// What a client has shown of itself.
struct Credentials {
  std::vector<std::string> certificate;  // the names in it; none without one
  std::string token;                     // empty without one
};

// What `context` shows. A client is known by the names in its certificate only
// if TLS has verified it.
Credentials CredentialsOf(const grpc::ServerContext& context);

// Thread-safe, but for Reload().
class Access {
 public:
  // Errors: kNotFound, kInvalidArgument  not a file of an AccessRules
  static absl::StatusOr<std::unique_ptr<Access>> Load(const std::string& path);
  ~Access();

  // Reads the file again; gives true if there was something new.
  // Errors: as Load(), once for each new content; the last good one stands
  absl::StatusOr<bool> Reload();

  // The name of the client that shows `credentials`, if it may call `group`.
  // How long that takes does not tell how much of a token was right.
  // Errors: kUnauthenticated   no rule knows it
  //         kPermissionDenied  none that does allows this
  absl::StatusOr<std::string> Check(const Credentials& credentials,
                                    pb::MethodGroup group) const;

 private:
  struct Rules;

  explicit Access(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  std::optional<std::string> seen_;  // the newest content, good or not
  bool is_missing_ = false;
  mutable std::mutex mutex_;
  std::shared_ptr<const Rules> rules_;  // guarded by mutex_
};

}  // namespace axis
