// Connections that gRPC closes, kept until their clients have read everything.
//
// gRPC closes a connection (of old age, or when the server stops) as soon as it
// has written the last answer. If a frame of the client is then unread, such as
// those that make room for more of that answer, the kernel resets the
// connection, and what was on its way is lost: no retry policy brings it back,
// since an answer had begun.
#pragma once

namespace axis {

// Of a connection that was accepted: that its end is to be as said above.
void CloseGently(int connection);

// Waits, not much longer than a second, for connections that linger.
void AwaitLingering();

}  // namespace axis
