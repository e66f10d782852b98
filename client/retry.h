// How calls that a server turned away are sent again: by gRPC, or by the client
// where gRPC cannot (see stream.cc). A server on its way out answers
// UNAVAILABLE or CANCELLED. Internal to the client.
#pragma once

#include "absl/time/time.h"

namespace axis {

inline constexpr int kMostAttempts = 4;
// Before the second attempt; twice as long before each of the next.
inline constexpr absl::Duration kFirstPause = absl::Milliseconds(100);

}  // namespace axis
