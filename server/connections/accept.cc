// Accepts connections for gRPC, which takes as many as there are descriptors,
// and up to 1.52 stops to listen, for good, when accept4() says that the
// process has none left; and which leaves Unix sockets the small buffers they
// are born with.
//
// The linker takes this function before that of the C library, for gRPC too.
#include "server/connections/accept.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "server/connections/callers.h"
#include "server/connections/conversations.h"
#include "server/connections/linger.h"

namespace {

std::mutex mutex;
// Given up for a moment to take a connection that cannot be kept and close it,
// so that its client learns of it. Guarded by `mutex`.
int reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);

std::atomic<int64_t> refusals{0};

int Accept(int listener, sockaddr* address, socklen_t* size, int flags) {
  return static_cast<int>(syscall(SYS_accept4, listener, address, size, flags));
}

// What a Unix socket holds of an answer, as far as net.core.wmem_max allows.
// It does not grow by itself, as that of TCP does, and each time it is full
// costs a wakeup: answers of 1 to 16 MiB take 0.9 times as long with this.
constexpr int kUnixBufferBytes = 1 << 20;

void Widen(int connection) {
  setsockopt(connection, SOL_SOCKET, SO_SNDBUF, &kUnixBufferBytes,
             sizeof(kUnixBufferBytes));
}

}  // namespace

int64_t axis::RefusedConnections() { return refusals; }

extern "C" int accept4(int listener, sockaddr* address, socklen_t* size,
                       int flags) {
  for (;;) {
    sockaddr_storage peer{};
    socklen_t peer_size = sizeof(peer);
    const int connection =
        Accept(listener, reinterpret_cast<sockaddr*>(&peer), &peer_size, flags);
    if (connection >= 0 && axis::Admit(connection, peer)) {
      if (address != nullptr) {
        std::memcpy(address, &peer, std::min(*size, peer_size));
        *size = peer_size;
      }
      axis::BeginConversation(connection);
      axis::CloseGently(connection);
      if (peer.ss_family == AF_UNIX) Widen(connection);
      return connection;
    }
    if (connection >= 0) {
      close(connection), ++refusals;
      continue;
    }
    if (errno != EMFILE && errno != ENFILE) return connection;
    const std::lock_guard lock(mutex);
    if (reserve >= 0) close(reserve);
    const int refused = Accept(listener, nullptr, nullptr, SOCK_CLOEXEC);
    const int why = errno;
    if (refused >= 0) close(refused), ++refusals;
    reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (refused >= 0) continue;
    // Not ours to report: the listener is fine, and waits for the next one.
    errno = why == EMFILE || why == ENFILE ? EAGAIN : why;
    return -1;
  }
}
