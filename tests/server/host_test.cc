// Claims of the host: memory is kept while it may be needed, and given back.
#include "server/process/host.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace axis {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// What a worker or the polling thread frees may lie in no heap that trimming
// leaves alone: malloc_trim does not shorten any but the first.
TEST(HostTest, FreeMemoryOfAnyThreadIsKeptUntilItIsGivenBack) {
  // Sanitizers bring a malloc of their own, which mallopt and malloc_trim do
  // not reach: nothing would be kept, and nothing given back.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the heap is not glibc's here";
#endif
  PrepareProcess();
  const int64_t before = ResidentBytes();
  std::thread([] {
    std::vector<std::unique_ptr<char[]>> blocks;
    for (int i = 0; i < 3; ++i) {
      blocks.push_back(std::make_unique<char[]>(20 * kMiB));
      std::memset(blocks.back().get(), i + 1, 20 * kMiB);
    }
  }).join();
  EXPECT_GE(ResidentBytes(), before + 50 * kMiB);
  ReleaseFreeMemory();
  EXPECT_LE(ResidentBytes(), before + 4 * kMiB);
}

}  // namespace
}  // namespace axis
