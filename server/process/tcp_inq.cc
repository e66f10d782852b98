// Refuses gRPC the option TCP_INQ, with which the kernel says after each read
// how much more there is. It says "nothing" although a reset has come, and gRPC
// believes it: when the last bytes of a client and its reset are read late and
// at once, the call holds its memory until --keepalive finds the client gone.
// Without the option gRPC reads until the kernel has nothing to give, which
// costs a system call a read.
//
// The linker takes this function before that of the C library, for gRPC too.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

extern "C" int setsockopt(int socket, int level, int option, const void* value,
                          socklen_t size) noexcept {
  if (level == IPPROTO_TCP && option == TCP_INQ) {
    errno = ENOPROTOOPT;
    return -1;
  }
  return static_cast<int>(
      syscall(SYS_setsockopt, socket, level, option, value, size));
}
