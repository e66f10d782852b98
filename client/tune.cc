#include "client/tune.h"

#include <climits>
#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace axis {

void TuneProcess() {
#ifdef __GLIBC__
  // mallopt would win over the environment.
  if (std::getenv("GLIBC_TUNABLES") == nullptr) {
    mallopt(M_MMAP_THRESHOLD, 32 << 20);  // glibc takes no more
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_TOP_PAD, 16 << 20);
  }
#endif
  setenv("GRPC_EXPERIMENTS", "-tcp_read_chunks", 0);
}

}  // namespace axis
