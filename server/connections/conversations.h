// The conversations of the sockets that clients are connected to.
#pragma once

#include <sys/socket.h>

#include <cstddef>

namespace axis {

// Of a connection that was accepted; and of any that is about to be closed.
void BeginConversation(int socket);
void EndConversation(int socket);

// Hears, or says, the first `bytes` of a message. Without a conversation all is
// fine.
bool HearFrom(int socket, const msghdr& message, size_t bytes);
void SayTo(int socket, const msghdr& message, size_t bytes);

}  // namespace axis
