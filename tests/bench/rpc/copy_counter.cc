// Counts the bytes that go through memcpy and memmove of a process:
//
//   AXIS_COPY_COUNTER=FILE LD_PRELOAD=./copy_counter.so PROGRAM
//
// FILE, at least 8 bytes long, holds the count, as it goes, as a native 64-bit
// integer. Calls below kLeast bytes are headers and bookkeeping, and are not
// counted; neither are copies that a compiler has written out in place, nor
// those of kernels that use loads and stores of their own.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

using Copy = void* (*)(void*, const void*, size_t);

constexpr size_t kLeast = 64;

std::atomic<uint64_t> before_start;
std::atomic<uint64_t>* counter = &before_start;
Copy real_memcpy, real_memmove;

__attribute__((constructor)) void Start() {
  real_memmove = reinterpret_cast<Copy>(dlsym(RTLD_NEXT, "memmove"));
  real_memcpy = reinterpret_cast<Copy>(dlsym(RTLD_NEXT, "memcpy"));
  const char* const path = getenv("AXIS_COPY_COUNTER");
  const int file = path != nullptr ? open(path, O_RDWR) : -1;
  if (file < 0) return;
  void* const map = mmap(nullptr, sizeof *counter, PROT_READ | PROT_WRITE,
                         MAP_SHARED, file, 0);
  close(file);
  if (map != MAP_FAILED) counter = static_cast<std::atomic<uint64_t>*>(map);
}

// For what runs before Start. Volatile, lest it be compiled to a call of
// memmove.
void* SlowCopy(void* to, const void* from, size_t bytes) {
  auto* out = static_cast<volatile char*>(to);
  const auto* in = static_cast<const volatile char*>(from);
  if (out < in) {
    for (size_t i = 0; i < bytes; ++i) out[i] = in[i];
  } else {
    for (size_t i = bytes; i-- > 0;) out[i] = in[i];
  }
  return to;
}

void* CountedCopy(Copy copy, void* to, const void* from, size_t bytes) {
  if (bytes >= kLeast) counter->fetch_add(bytes, std::memory_order_relaxed);
  return copy != nullptr ? copy(to, from, bytes) : SlowCopy(to, from, bytes);
}

}  // namespace

extern "C" {

void* memcpy(void* __restrict to, const void* __restrict from,
             size_t bytes) noexcept {
  return CountedCopy(real_memcpy, to, from, bytes);
}

void* memmove(void* to, const void* from, size_t bytes) noexcept {
  return CountedCopy(real_memmove, to, from, bytes);
}

// What both become where the compiler knows the room at `to` (_FORTIFY_SOURCE).
void* __memcpy_chk(void* to, const void* from, size_t bytes, size_t room);
void* __memmove_chk(void* to, const void* from, size_t bytes, size_t room);

void* __memcpy_chk(void* to, const void* from, size_t bytes, size_t room) {
  if (bytes > room) abort();
  return CountedCopy(real_memcpy, to, from, bytes);
}

void* __memmove_chk(void* to, const void* from, size_t bytes, size_t room) {
  if (bytes > room) abort();
  return CountedCopy(real_memmove, to, from, bytes);
}

}  // extern "C"
