// The server: builds everything an axisd is made of, and takes it down again.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "server/options.h"
#include "server/process/log.h"

namespace axis {

// What was seen of connections so far.
struct ConnectionCounts {
  int64_t sender_changes = 0;  // how often one was sent to after another one
  int64_t refused = 0;         // closed as they came, for there were too many
  int64_t hung_up = 0;         // closed because they asked for too much
};

class Server {
 public:
  // Takes calls from the moment it returns.
  // Errors: kUnavailable  an address cannot be listened on
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Options& options,
                                                       const Log& log);
  virtual ~Server() = default;

  // The ports of options.listen, in order; 0 for Unix sockets.
  virtual const std::vector<int>& ports() const = 0;

  // Turns readiness off; calls are still served. First half of a drain.
  virtual void BecomeUnready() = 0;

  // Takes no more calls, waits for those under way until drain_timeout, then
  // cancels them. Second half of a drain; call once, before destruction.
  virtual void Shutdown() = 0;

  // Housekeeping, to be called about once a second.
  virtual void Tick(const ConnectionCounts& seen) = 0;
};

}  // namespace axis
