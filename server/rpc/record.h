// The record of a call: what metrics and log learn of it once it is over.
#pragma once

#include <grpcpp/server_context.h>

#include <cstddef>

#include "server/rpc/workshop.h"

namespace axis {

// Whether the time of a call is up.
bool IsLate(const grpc::ServerContext& context);

// Lets a stream in, as Guard::Enter(), and notes what is to be known of it.
absl::Status EnterStream(const Workshop& workshop, grpc::ServerContext& context,
                         pb::MethodGroup group, Weight weight,
                         Admission::Lease& lease, CallReport& report);

// Records a call of the method number `method`, called `name`. Completes
// `report` first: a call that was cancelled because it was late says so.
void RecordCall(const Workshop& workshop, size_t method, const char* name,
                const grpc::ServerContext& context, CallReport& report);

}  // namespace axis
