#include "client/tune.h"

#include <grpcpp/version_info.h>

#include <climits>
#include <cstdlib>
#include <cstring>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace axis {

void TuneProcess() {
#ifdef __GLIBC__
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
