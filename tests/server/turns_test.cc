// Claims of turns: who has nothing under way comes first, also in the middle of
// the work of those who have, and have a core to spare while they are at work;
// nothing is lost, and nothing done twice; and the thread that polls goes
// before all workers.
#include "server/rpc/turns.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <tbb/global_control.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/process/out_of_memory.h"

namespace axis {
namespace {

// One worker, so that the order in which work begins is that of its turns.
class TurnsTest : public testing::Test {
 protected:
  TurnsTest() : arena_(1, /*reserved_for_masters=*/0), turns_(arena_) {}

  // Adds work that notes its `name`.
  void Add(const std::string& name, bool can_wait) {
    turns_.Add([this, name] { order_.push_back(name); }, can_wait);
  }

  // Waits until all that was added is done, and what can wait comes last.
  std::vector<std::string> Order() {
    absl::Notification done;
    turns_.Add([&] { done.Notify(); }, /*can_wait=*/true);
    done.WaitForNotification();
    return order_;
  }

  tbb::task_arena arena_;
  Turns turns_;
  std::vector<std::string> order_;  // of the worker, until Order()
};

TEST_F(TurnsTest, WorkersAreWorthLessThanTheThreadThatPolls) {
  const auto niceness = [] { return getpriority(PRIO_PROCESS, gettid()); };
  const int before = niceness();
  for (int i = 0; i < 3; ++i) {
    absl::Notification done;
    int of_worker = 0;
    turns_.Add(
        [&] {
          of_worker = niceness();
          done.Notify();
        },
        /*can_wait=*/false);
    done.WaitForNotification();
    EXPECT_EQ(of_worker, std::min(before + 4, 19));
    // It goes to sleep, and comes back.
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  EXPECT_EQ(niceness(), before);
}

TEST_F(TurnsTest, WhoCanWaitComesAfterWhoCannot) {
  absl::Notification go;
  turns_.Add([&] { go.WaitForNotification(); }, /*can_wait=*/false);
  Add("later 1", true);
  Add("first 1", false);
  Add("later 2", true);
  Add("first 2", false);
  go.Notify();
  EXPECT_EQ(Order(), (std::vector<std::string>{"first 1", "first 2", "later 1",
                                               "later 2"}));
}

TEST_F(TurnsTest, WhoCanWaitGivesWayBetweenItsParts) {
  absl::Notification begun, go;
  turns_.Add(
      [&] {
        order_.push_back("part 1");
        begun.Notify();
        go.WaitForNotification();
        turns_.GiveWay();
        order_.push_back("part 2");
        turns_.GiveWay();  // to nobody
        order_.push_back("part 3");
      },
      /*can_wait=*/true);
  begun.WaitForNotification();
  Add("later", true);
  Add("first 1", false);
  Add("first 2", false);
  go.Notify();
  EXPECT_EQ(Order(), (std::vector<std::string>{"part 1", "first 1", "first 2",
                                               "part 2", "part 3", "later"}));
}

// Else as many clients as there are would be on one stack.
TEST_F(TurnsTest, WhoIsGivenWayToGivesNone) {
  absl::Notification begun, go;
  turns_.Add(
      [&] {
        begun.Notify();
        go.WaitForNotification();
        turns_.GiveWay();
        order_.push_back("later");
      },
      /*can_wait=*/true);
  begun.WaitForNotification();
  turns_.Add(
      [&] {
        turns_.GiveWay();
        order_.push_back("first 1");
      },
      /*can_wait=*/false);
  Add("first 2", false);
  go.Notify();
  EXPECT_EQ(Order(), (std::vector<std::string>{"first 1", "first 2", "later"}));
}

// What it throws would be caught by the call around it, and its own never be
// answered.
TEST_F(TurnsTest, WhoIsGivenWayToMayNotRunOutForTheCallAroundIt) {
  absl::Notification begun, go;
  turns_.Add(
      [&] {
        const MayRunOut scope;
        begun.Notify();
        go.WaitForNotification();
        turns_.GiveWay();
        EXPECT_TRUE(MayRunOut::IsOnThisThread());
      },
      /*can_wait=*/true);
  begun.WaitForNotification();
  turns_.Add(
      [this] {
        order_.push_back(MayRunOut::IsOnThisThread() ? "may" : "may not");
      },
      /*can_wait=*/false);
  go.Notify();
  EXPECT_EQ(Order(), std::vector<std::string>{"may not"});
}

// Two workers, one of which is busy with what cannot wait.
class TurnsOfTwoTest : public testing::Test {
 protected:
  // Has work that can wait give way while that which cannot is under way, which
  // ends once `until` is true. Returns whether it stood still until then.
  bool StandsStill(std::chrono::milliseconds patience,
                   const std::function<bool()>& until) {
    const tbb::global_control parallelism(
        tbb::global_control::max_allowed_parallelism, 3);
    tbb::task_arena arena(2, /*reserved_for_masters=*/0);
    Turns turns(arena, patience);
    absl::Notification later_begun, first_begun, done;
    std::atomic<bool> first_ended = false;
    bool stood_still = false;
    turns.Add(
        [&] {
          later_begun.Notify();
          first_begun.WaitForNotification();
          turns.GiveWay();
          stood_still = first_ended;
          gone_on_ = true;
          done.Notify();
        },
        /*can_wait=*/true);
    later_begun.WaitForNotification();
    turns.Add(
        [&] {
          first_begun.Notify();
          while (!until()) std::this_thread::yield();
          first_ended = true;
        },
        /*can_wait=*/false);
    done.WaitForNotification();
    while (!first_ended) std::this_thread::yield();
    return stood_still;
  }

  std::atomic<bool> gone_on_ = false;
};

TEST_F(TurnsOfTwoTest, WhoCanWaitLeavesACoreToWhoIsNoWorker) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(StandsStill(std::chrono::minutes(5), [start] {
    return std::chrono::steady_clock::now() - start >
           std::chrono::milliseconds(20);
  }));
}

TEST_F(TurnsOfTwoTest, ThePatienceOfWhoCanWaitHasAnEnd) {
  EXPECT_FALSE(StandsStill(std::chrono::milliseconds(1),
                           [this] { return gone_on_.load(); }));
}

TEST(TurnsOfManyTest, EveryWorkIsDoneOnce) {
  const tbb::global_control parallelism(
      tbb::global_control::max_allowed_parallelism, 3);
  constexpr int kThreads = 4, kEach = 20'000, kAll = kThreads * kEach;
  tbb::task_arena arena(2, /*reserved_for_masters=*/0);
  Turns turns(arena);
  std::vector<std::atomic<int>> times(kAll);
  std::atomic<int> left{kAll};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = t * kEach; i < (t + 1) * kEach; ++i)
        turns.Add(
            [&, i] {
              if (i % 3 == 0) turns.GiveWay();
              ++times[static_cast<size_t>(i)];
              --left;
            },
            /*can_wait=*/i % 3 == 0);
    });
  for (std::thread& thread : threads) thread.join();
  while (left > 0) std::this_thread::yield();
  for (const std::atomic<int>& n : times) ASSERT_EQ(n, 1);
}

}  // namespace
}  // namespace axis
