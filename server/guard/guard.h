// The guard at the door: who a client is, what it may call, and whose share of
// the server its calls come out of.
#pragma once

#include <grpcpp/server_context.h>

#include <string>

#include "absl/status/status.h"
#include "axis/v1/access.pb.h"
#include "server/guard/access.h"
#include "server/process/admission.h"
#include "server/process/metrics.h"

namespace axis {

// What a call is to the server.
enum class Weight {
  kLight,     // over in a moment
  kHeavy,     // counts as long as it is there
  kStanding,  // may be there for ever, and does not count by itself
};

// Thread-safe.
class Guard {
 public:
  // Without `access` everybody may call everything. Both must outlive it.
  Guard(Admission& admission, const Access* access)
      : admission_(admission), access_(access) {}

  // Lets a call of a method of `group` in; METHOD_GROUP_UNSPECIFIED is open to
  // all. `report` learns of the client, if it matters who that is: a light
  // call of an idle server that everybody may call is nobody's, and costs
  // nothing here.
  //
  // Errors: as Access::Check(), Lease::Enter()
  absl::Status Enter(const grpc::ServerContext& context, pb::MethodGroup group,
                     Weight weight, Admission::Lease& lease,
                     CallReport& report) const {
    if (weight == Weight::kLight && access_ == nullptr && !admission_.IsBusy())
      return absl::OkStatus();
    return Identify(context, group, weight, lease, report);
  }

 private:
  absl::Status Identify(const grpc::ServerContext& context,
                        pb::MethodGroup group, Weight weight,
                        Admission::Lease& lease, CallReport& report) const;

  Admission& admission_;
  const Access* const access_;
};

// What a peer, as gRPC spells it, is known by where it has shown nothing: its
// address without the port, of IPv6 the network, or "unix".
std::string ClientOfPeer(const std::string& peer);

}  // namespace axis
