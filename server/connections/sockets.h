// What is known of the sockets that gRPC polls.
#pragma once

#include <cstdint>

namespace axis {

// How often one was sent to after another one: hundreds of times a second where
// several clients are served at once, hardly ever where there is but one.
int64_t SenderChanges();

}  // namespace axis
