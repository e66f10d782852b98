#include "server/shm/fault_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>

namespace axis {
namespace {

// What the handler may look at: atomics alone, and no lock.
struct Slot {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> taken{false};
  std::atomic<bool> torn{false};
};
Slot slots[FaultGuard::kMaxGuards];
std::atomic<uintptr_t> page_bytes{0};

void OnFault(int signal, siginfo_t* info, void*) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(info->si_addr);
  for (Slot& slot : slots) {
    if (at < slot.begin || at >= slot.end) continue;
    slot.torn = true;
    std::byte* const page =
        static_cast<std::byte*>(info->si_addr) - at % page_bytes;
    const size_t bytes = slot.end - at + at % page_bytes;
    // What lies behind is gone too, and a fault for each page would take long.
    // mmap is a bare system call on Linux, so it may be made here.
    if (mmap(page, bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
      return;
  }
  // Not ours: happens again without us.
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
}

void Install() {
  page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace

FaultGuard::FaultGuard(std::byte* begin, size_t bytes) : slot_(0) {
  static std::once_flag installed;
  std::call_once(installed, Install);
  while (slot_ < kMaxGuards && slots[slot_].taken.exchange(true)) ++slot_;
  if (!ok()) return;
  Slot& slot = slots[slot_];
  slot.torn = false;
  slot.begin = reinterpret_cast<uintptr_t>(begin);
  slot.end = reinterpret_cast<uintptr_t>(begin) + bytes;
}

FaultGuard::~FaultGuard() {
  if (!ok()) return;
  slots[slot_].end = 0;
  slots[slot_].begin = 0;
  slots[slot_].taken = false;
}

bool FaultGuard::torn() const { return slots[slot_].torn; }

}  // namespace axis
