// Which connections gRPC is given.
#pragma once

#include <cstdint>

namespace axis {

// How many were closed as they came, so far: callers.h has who may stay.
int64_t RefusedConnections();

}  // namespace axis
