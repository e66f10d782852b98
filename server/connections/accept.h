// Which connections gRPC is given.
#pragma once

#include <cstdint>

namespace axis {

// From now on connections are closed as they come while `files` descriptors are
// open, so that there are some left for scrapes and files.
void TakeConnectionsUpTo(int64_t files);

// How many were closed so far.
int64_t RefusedConnections();

}  // namespace axis
