// Who is connected, and who else may be.
//
// Nobody takes all the places there are: an address (of IPv6 a /64 network) may
// have eight times as many connections as are left. One alone gets eight ninths
// of all, the next one eight ninths of what is left then.
#pragma once

#include <sys/socket.h>

#include <cstdint>

namespace axis {

// How many connections there may be from now on.
void LimitConnections(int64_t most);

// Whether a connection of `peer` may stay; if so, it has its place until
// Leave(). Of one that has none, Leave() does nothing.
bool Admit(int connection, const sockaddr_storage& peer);
void Leave(int connection);

}  // namespace axis
