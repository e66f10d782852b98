#include "server/process/out_of_memory.h"

#include <time.h>

#include <new>

namespace axis {

void WaitForMemory() {
  std::set_new_handler([] {
    if (MayRunOut::IsOnThisThread()) throw std::bad_alloc();
    const timespec pause{.tv_sec = 0, .tv_nsec = 1000000};
    nanosleep(&pause, nullptr);
  });
}

}  // namespace axis
