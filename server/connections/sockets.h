// What is known of the sockets that gRPC polls.
#pragma once

#include <cstdint>

namespace axis {

// How often one was sent to after another one, so far: hundreds of times a
// second while several clients are served, hardly ever while there is but one.
int64_t SenderChanges();

}  // namespace axis
