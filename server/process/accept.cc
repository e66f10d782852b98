// Accepts connections for gRPC, which up to 1.52 stops to listen, for good,
// when accept4() says that the process has no descriptors left.
//
// The linker takes this function before that of the C library, for gRPC too.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "server/process/linger.h"

namespace {

std::mutex mutex;
// Given up for a moment to take a connection that cannot be kept and close it,
// so that its client learns of it. Guarded by `mutex`.
int reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);

int Accept(int listener, sockaddr* address, socklen_t* size, int flags) {
  return static_cast<int>(syscall(SYS_accept4, listener, address, size, flags));
}

}  // namespace

extern "C" int accept4(int listener, sockaddr* address, socklen_t* size,
                       int flags) {
  for (;;) {
    const int connection = Accept(listener, address, size, flags);
    axis::CloseGently(connection);
    if (connection >= 0 || (errno != EMFILE && errno != ENFILE))
      return connection;
    const std::lock_guard lock(mutex);
    if (reserve >= 0) close(reserve);
    const int refused = Accept(listener, nullptr, nullptr, SOCK_CLOEXEC);
    const int why = errno;
    if (refused >= 0) close(refused);
    reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (refused >= 0) continue;
    // Not ours to report: the listener is fine, and waits for the next one.
    errno = why == EMFILE || why == ENFILE ? EAGAIN : why;
    return -1;
  }
}
