#include "kernels/copy/memory/buffer_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace axis {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kMiB = 1 << 20;

std::shared_ptr<BufferPool> NewPool(int64_t max_idle_bytes = 64 * kMiB) {
  return std::make_shared<BufferPool>(max_idle_bytes);
}

TEST(BufferPoolTest, EveryByteFromHeadRoomToEndIsAlignedAndWritable) {
  const auto pool = NewPool();
  for (int64_t bytes :
       {int64_t{0}, int64_t{1}, int64_t{3520}, int64_t{3521}, int64_t{65536},
        kMiB - 1, 2 * kMiB - 576, 2 * kMiB - 575, 2 * kMiB, 5 * kMiB + 1}) {
    const PooledBuffer buffer = pool->Get(bytes);
    ASSERT_NE(buffer, nullptr) << bytes;
    EXPECT_EQ(
        reinterpret_cast<uintptr_t>(buffer.get()) % BufferPool::kAlignment, 0u)
        << bytes;
    std::memset(buffer.get() - BufferPool::kHeadRoom, 1,
                BufferPool::kHeadRoom + static_cast<size_t>(bytes));
  }
}

TEST(BufferPoolTest, LargeBlocksStartOnHugePages) {
  const auto pool = NewPool();
  const PooledBuffer buffer = pool->Get(3 * kMiB);
  constexpr uintptr_t kFrontAtMost = 4096;
  EXPECT_LT(reinterpret_cast<uintptr_t>(buffer.get()) % (2 * kMiB),
            kFrontAtMost);
}

TEST(BufferPoolTest, BlocksWasteAtMostAnEighthAndAHugePage) {
  const auto pool = NewPool();
  for (int64_t bytes = 1; bytes < 200 * kMiB; bytes += bytes / 3 + 1) {
    const PooledBuffer buffer = pool->Get(bytes);
    const int64_t block = pool->GetStats().live_bytes;
    const int64_t front = BufferPool::kHeadRoom + BufferPool::kAlignment;
    EXPECT_GE(block, bytes + front);
    EXPECT_LE(block, std::max<int64_t>(4096, (bytes + front) * 9 / 8 +
                                                 (bytes < kMiB ? 0 : 2 * kMiB)))
        << bytes;
    if (block > 2 * kMiB) {
      EXPECT_EQ(block % (2 * kMiB), 0) << bytes;
    }
  }
}

TEST(BufferPoolTest, ReturnedMemoryIsUsedAgainForTheSameSizeOnly) {
  const auto pool = NewPool();
  PooledBuffer buffer = pool->Get(kMiB);
  std::byte* const data = buffer.get();
  buffer.reset();
  const PooledBuffer other = pool->Get(2 * kMiB);
  EXPECT_NE(other.get(), data);
  const PooledBuffer again = pool->Get(kMiB - 100);
  EXPECT_EQ(again.get(), data);
}

TEST(BufferPoolTest, CountsLiveAndIdleBytes) {
  const auto pool = NewPool();
  PooledBuffer buffer = pool->Get(kMiB);
  const int64_t block = pool->GetStats().live_bytes;
  EXPECT_EQ(block, kMiB + kMiB / 8);
  EXPECT_EQ(pool->GetStats().idle_bytes, 0);
  buffer.reset();
  EXPECT_EQ(pool->GetStats().live_bytes, 0);
  EXPECT_EQ(pool->GetStats().idle_bytes, block);
  buffer = pool->Get(kMiB);
  EXPECT_EQ(pool->GetStats().live_bytes, block);
  EXPECT_EQ(pool->GetStats().idle_bytes, 0);
}

TEST(BufferPoolTest, KeepsNoMoreThanItsBoundAndDropsTheOldestFirst) {
  const auto pool = NewPool(8 * kMiB);
  PooledBuffer a = pool->Get(3 * kMiB), b = pool->Get(3 * kMiB),
               c = pool->Get(kMiB), huge = pool->Get(9 * kMiB);
  const std::byte* const kept = b.get();
  const std::byte* const newest = c.get();
  huge.reset();  // never fits
  EXPECT_EQ(pool->GetStats().idle_bytes, 0);
  a.reset();
  b.reset();
  EXPECT_EQ(pool->GetStats().idle_bytes, 8 * kMiB);
  c.reset();  // drives out a
  EXPECT_EQ(pool->GetStats().idle_bytes, 5 * kMiB + kMiB / 8);
  EXPECT_EQ(pool->Get(3 * kMiB).get(), kept);
  EXPECT_EQ(pool->Get(kMiB).get(), newest);
}

TEST(BufferPoolTest, KeepsNothingIfToldSo) {
  const auto pool = NewPool(0);
  pool->Get(kMiB).reset();
  pool->Get(1).reset();
  EXPECT_EQ(pool->GetStats().idle_bytes, 0);
}

TEST(BufferPoolTest, TrimReturnsOnlyWhatHasBeenIdleLongEnough) {
  const auto pool = NewPool();
  pool->Get(kMiB).reset();
  pool->Get(4 * kMiB).reset();
  const int64_t idle = pool->GetStats().idle_bytes;
  EXPECT_EQ(pool->Trim(1h), 0);
  EXPECT_EQ(pool->GetStats().idle_bytes, idle);
  const PooledBuffer live = pool->Get(100);
  const int64_t live_bytes = pool->GetStats().live_bytes;
  EXPECT_EQ(pool->Trim({}), idle);
  EXPECT_EQ(pool->GetStats().idle_bytes, 0);
  EXPECT_EQ(pool->GetStats().live_bytes, live_bytes);
}

TEST(BufferPoolTest, TrimTellsOldFromYoung) {
  const auto pool = NewPool();
  PooledBuffer young = pool->Get(kMiB);
  pool->Get(4 * kMiB).reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const std::byte* const data = young.get();
  young.reset();
  EXPECT_EQ(pool->Trim(std::chrono::milliseconds(200)), 6 * kMiB);
  EXPECT_EQ(pool->Get(kMiB).get(), data);
}

TEST(BufferPoolTest, TrimmedMemoryIsTheSystemsAgain) {
  const auto resident = [] {
    std::ifstream statm("/proc/self/statm");
    int64_t total, pages;
    statm >> total >> pages;
    return pages * sysconf(_SC_PAGESIZE);
  };
  const auto pool = NewPool();
  PooledBuffer buffer = pool->Get(32 * kMiB);
  std::memset(buffer.get(), 1, 32 * kMiB);
  const int64_t before = resident();
  buffer.reset();
  pool->Trim({});
  EXPECT_LT(resident(), before - 30 * kMiB);
}

TEST(BufferPoolTest, BuffersOutliveTheirPoolsOwner) {
  auto pool = NewPool();
  const std::weak_ptr<BufferPool> watch = pool;
  pool->Get(kMiB).reset();
  PooledBuffer first = pool->Get(kMiB), last = pool->Get(kMiB);
  pool.reset();
  std::memset(first.get(), 1, kMiB);
  first.reset();
  EXPECT_FALSE(watch.expired());
  // A C callback gives a plain pointer back, on a thread of its own.
  std::thread([data = last.release()] { ReturnToPool()(data); }).join();
  EXPECT_TRUE(watch.expired());
}

TEST(BufferPoolTest, RefusesWhatNoSystemHas) {
  const auto pool = NewPool();
  EXPECT_EQ(pool->Get(std::numeric_limits<int64_t>::max()), nullptr);
  EXPECT_EQ(pool->Get(int64_t{1} << 46), nullptr);
  EXPECT_EQ(pool->GetStats().live_bytes, 0);
}

#if defined(__SANITIZE_ADDRESS__)
TEST(BufferPoolDeathTest, ASanReportsUseAfterReturn) {
  const auto pool = NewPool();
  const std::byte* const data = pool->Get(kMiB).get();
  EXPECT_DEATH(static_cast<void>(std::vector<std::byte>(data, data + 1)),
               "use-after-poison");
}
#elif !defined(__SANITIZE_THREAD__)
// With little memory: large and small blocks run out, idle ones still serve.
bool RunsOutGracefully() {
  const auto pool = NewPool();
  const rlimit limit{512 * kMiB, 512 * kMiB};
  if (setrlimit(RLIMIT_AS, &limit) != 0) return false;
  if (pool->Get(1024 * kMiB) != nullptr) return false;
  std::vector<PooledBuffer> buffers;
  do {
    buffers.push_back(pool->Get(kMiB));
  } while (buffers.back() != nullptr && buffers.size() < 2000);
  if (buffers.back() != nullptr) return false;
  buffers.clear();
  return pool->Get(kMiB) != nullptr;
}

TEST(BufferPoolDeathTest, IsNullWhenMemoryRunsOut) {
  EXPECT_EXIT(std::_Exit(RunsOutGracefully() ? 0 : 1),
              testing::ExitedWithCode(0), "");
}
#endif

TEST(BufferPoolTest, ServesManyThreads) {
  const auto pool = NewPool(6 * kMiB);
  const auto work = [&](unsigned seed) {
    std::minstd_rand random(seed);
    std::vector<PooledBuffer> held(8);
    std::vector<std::pair<size_t, std::byte>> mark(held.size());
    for (int i = 0; i < 2000; ++i) {
      const size_t k = random() % held.size();
      const size_t bytes = size_t{1} << random() % 22;
      if (held[k] != nullptr) {
        // Nobody else may have been given this memory meanwhile.
        EXPECT_EQ(held[k][0], mark[k].second);
        EXPECT_EQ(held[k][mark[k].first], mark[k].second);
      }
      held[k] = pool->Get(static_cast<int64_t>(bytes));
      ASSERT_NE(held[k], nullptr);
      mark[k] = {bytes - 1, static_cast<std::byte>(random())};
      held[k][0] = held[k][bytes - 1] = mark[k].second;
      if (i % 100 == 0) pool->Trim(std::chrono::microseconds(50));
      EXPECT_LE(pool->GetStats().idle_bytes, 6 * kMiB);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool->GetStats().live_bytes, 0);
}

}  // namespace
}  // namespace axis
