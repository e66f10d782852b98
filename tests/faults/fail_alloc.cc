// Loaded into axisd before all else (LD_PRELOAD): lets one allocation of its
// own code fail, the n-th from when the test says so.
//
// Allocations count that are asked for by axisd itself or by protobuf on its
// behalf; gRPC's own end the process when they fail, whoever uses it. The file
// that AXIS_FAIL_ALLOC names is shared with the test and holds a `Control`.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

struct Control {
  std::atomic<int64_t> left;    // fails when this becomes 0; below: never
  std::atomic<int64_t> failed;  // how many did
};

struct Code {
  uintptr_t begin = 0, end = 0;
};

std::array<Code, 16> code;
size_t code_size = 0;
Control* control = nullptr;

int AddCode(dl_phdr_info* info, size_t, void*) {
  const bool ours = info->dlpi_name[0] == '\0' ||
                    std::strstr(info->dlpi_name, "libprotobuf.so") != nullptr;
  for (int i = 0; ours && i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (code_size < code.size())
      code[code_size++] = {begin, begin + segment.p_memsz};
  }
  return 0;
}

__attribute__((constructor)) void Prepare() {
  const char* path = std::getenv("AXIS_FAIL_ALLOC");
  if (path == nullptr) return;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  void* const map = ::mmap64(nullptr, sizeof(Control), PROT_READ | PROT_WRITE,
                             MAP_SHARED, file, 0);
  dl_iterate_phdr(AddCode, nullptr);
  if (map != MAP_FAILED) control = static_cast<Control*>(map);
}

bool Fails(void* caller) {
  if (control == nullptr || control->left.load() <= 0) return false;
  const auto at = reinterpret_cast<uintptr_t>(caller);
  for (size_t i = 0; i < code_size; ++i)
    if (code[i].begin <= at && at < code[i].end) {
      if (control->left.fetch_sub(1) != 1) return false;
      ++control->failed;
      return true;
    }
  return false;
}

// As the standard has it: the new handler may find memory yet.
void* New(size_t size, void* caller) {
  bool fails = Fails(caller);
  for (;;) {
    void* const memory = fails ? nullptr : std::malloc(size);
    if (memory != nullptr) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) return nullptr;
    handler();
    fails = false;
  }
}

void* NewOrThrow(size_t size, void* caller) {
  void* const memory = New(size, caller);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* NewOrNull(size_t size, void* caller) {
  try {
    return New(size, caller);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

void* operator new(size_t size) {
  return NewOrThrow(size, __builtin_return_address(0));
}
void* operator new[](size_t size) {
  return NewOrThrow(size, __builtin_return_address(0));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return NewOrNull(size, __builtin_return_address(0));
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return NewOrNull(size, __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

// What the pool takes its blocks from.
extern "C" void* aligned_alloc(size_t alignment, size_t size) noexcept {
  void* memory = nullptr;
  if (Fails(__builtin_return_address(0)) ||
      posix_memalign(&memory, alignment, size) != 0)
    errno = ENOMEM;
  return memory;
}
extern "C" void* mmap(void* address, size_t size, int protection, int flags,
                      int file, off_t offset) noexcept {
  static const auto real =
      reinterpret_cast<decltype(&mmap)>(dlsym(RTLD_NEXT, "mmap"));
  if (Fails(__builtin_return_address(0))) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return real(address, size, protection, flags, file, offset);
}
