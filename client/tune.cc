#include "client/tune.h"

#include <grpcpp/version_info.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>

#ifdef __GLIBC__
#include <dlfcn.h>
#include <malloc.h>
#include <sys/socket.h>

namespace {

constexpr int kUnixBufferBytes = 1 << 20;

std::atomic<bool> g_is_tuned = false;

void WidenIfUnix(int socket) {
  int domain = 0, bytes = 0;
  socklen_t size = sizeof(int);
  if (getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 ||
      domain != AF_UNIX ||
      getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, &size) != 0)
    return;
  // The kernel counts twice what it is asked for.
  if (bytes < 2 * kUnixBufferBytes)
    setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &kUnixBufferBytes,
               sizeof(kUnixBufferBytes));
}

}  // namespace

// gRPC has no public way to its sockets; the linker takes this function before
// that of the C library, for gRPC too.
extern "C" int connect(int socket, const sockaddr* address, socklen_t size) {
  using Connect = decltype(&connect);
  static const auto next =
      reinterpret_cast<Connect>(dlsym(RTLD_NEXT, "connect"));
  if (g_is_tuned) WidenIfUnix(socket);
  return next(socket, address, size);
}
#endif

namespace axis {

void TuneProcess() {
#ifdef __GLIBC__
  g_is_tuned = true;
  // mallopt would win over the environment, which may ask for more.
  const char* const tunables = std::getenv("GLIBC_TUNABLES");
  if (tunables == nullptr || !std::strstr(tunables, "mmap_threshold")) {
    mallopt(M_MMAP_THRESHOLD, 32 << 20);  // glibc takes no more
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_TOP_PAD, 16 << 20);
  }
#endif
#if GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR < 53
  // Later ones know it no more, and say so on standard error.
  setenv("GRPC_EXPERIMENTS", "-tcp_read_chunks", 0);
#endif
}

}  // namespace axis
