// The route of outputs that are written where they belong as the input comes.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/program.h"
#include "server/stream/route.h"

namespace axis {

// What the route of `program` takes. The best is pooled memory, segment after
// segment; the least is space that is given back as it is sent.
// REQUIRES: RouteOf(program) is kScatter, here and below.
RouteBytes BytesToScatter(const Program& program);

// REQUIRES: as for MakeRoute().
std::unique_ptr<Route> MakeScatter(const Program& program, int64_t bytes,
                                   const CallContext& call);

}  // namespace axis
