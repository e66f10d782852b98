// Claims of the host: memory is kept while it may be needed, and given back;
// and of gRPC's log: its last word is written.
#include "server/process/host.h"

#include <grpcpp/version_info.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "server/process/grpc_log.h"

#if GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR < 65
#include <grpc/support/log.h>
#else
#include "absl/log/check.h"
#include "absl/log/log.h"
#endif

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

// The words of sched_attr of sched_setattr(2): its size and the policy, flags,
// niceness and priority, the slice in nanoseconds, and two of real time.
std::vector<uint64_t> SchedulingAttributes() {
  std::vector<uint64_t> words(6);
  EXPECT_EQ(syscall(SYS_sched_getattr, 0, words.data(), 48, 0), 0);
  return words;
}

bool HasSlices() {
  utsname system{};
  int major = 0, minor = 0;
  return uname(&system) == 0 &&
         std::sscanf(system.release, "%d.%d", &major, &minor) == 2 &&
         std::make_pair(major, minor) >= std::make_pair(6, 12);
}

TEST(HostTest, AllThreadsAskForTheShortestSlices) {
  if (!HasSlices())
    GTEST_SKIP() << "Linux before 6.12 has no slices to ask for";
  std::vector<uint64_t> before, ours, later;
  std::thread([&] {
    (void)!nice(3);  // which must stay
    before = SchedulingAttributes();
    before[3] = 3'000'000;  // other tests may have asked already
    ASSERT_EQ(syscall(SYS_sched_setattr, 0, before.data(), 0), 0);
    PrepareProcess();
    ours = SchedulingAttributes();
    std::thread([&] { later = SchedulingAttributes(); }).join();
  }).join();
  EXPECT_EQ(ours[3], 100'000u);
  EXPECT_EQ(later[3], 100'000u);
  // And nothing else is changed.
  ours[3] = before[3];
  EXPECT_EQ(ours, before);
}

TEST(HostTest, ThreadsOfAnotherPolicyAreLeftAsTheyAre) {
  std::thread([] {
    std::vector<uint64_t> before = SchedulingAttributes();
    before[0] = 48 | uint64_t{SCHED_BATCH} << 32;
    before[3] = 3'000'000;
    ASSERT_EQ(syscall(SYS_sched_setattr, 0, before.data(), 0), 0);
    before = SchedulingAttributes();
    PrepareProcess();
    EXPECT_EQ(SchedulingAttributes(), before);
  }).join();
}

// Nothing that is left to the log's own thread would be.
TEST(GrpcLogTest, WhatEndsTheProcessIsWrittenAtOnce) {
  const auto fail = [] {
    Log log(Log::Format::kText);
    log.StartWriter();
    const GrpcLog grpc_log(log);
#ifdef GPR_ASSERT
    gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);  // as grpc_init() does
    gpr_log(GPR_ERROR, "once a second");
    GPR_ASSERT(1 + 1 == 3);
#else
    LOG(ERROR) << "once a second";
    CHECK(1 + 1 == 3);
#endif
  };
  EXPECT_DEATH(fail(),
               "fatal grpc message=\"[A-Za-z]+ failed: 1 \\+ 1 == 3 *\" "
               "at=\"host_test.cc:");
}

}  // namespace
}  // namespace axis
