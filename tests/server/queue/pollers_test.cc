// Claims of pollers: one polls as long as it is not busy, or nobody would wait
// for it; more do while it is, each event once; then all but one leave, and
// none is lost on the way.
#include "server/queue/pollers.h"

#include <grpcpp/alarm.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "server/queue/event.h"

namespace axis {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// What events have done.
struct Work {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  int at_once = 0, most_at_once = 0;
  int64_t runs = 0;
  bool ends = false;

  std::set<std::thread::id> Threads() {
    const std::lock_guard lock(mutex);
    return std::exchange(threads, {});
  }

  int MostAtOnce() {
    const std::lock_guard lock(mutex);
    return most_at_once;
  }
};

// An event that computes for two milliseconds and comes again.
class Job final : public Event {
 public:
  Job(Work& work, grpc::CompletionQueue& queue) : work_(work), queue_(queue) {
    const std::lock_guard lock(work_.mutex);
    Post();
  }

  // REQUIRES: work.mutex is held.
  int64_t posted() const { return posted_; }

 private:
  void Run(bool) override {
    {
      const std::lock_guard lock(work_.mutex);
      work_.threads.insert(std::this_thread::get_id());
      work_.most_at_once = std::max(work_.most_at_once, ++work_.at_once);
    }
    for (const auto end = Clock::now() + milliseconds(2); Clock::now() < end;) {
    }
    const std::lock_guard lock(work_.mutex);
    --work_.at_once;
    ++work_.runs;
    if (!work_.ends) Post();
  }

  void Post() {
    ++posted_;
    alarm_ = std::make_unique<grpc::Alarm>();
    alarm_->Set(&queue_, std::chrono::system_clock::now(), Tag());
  }

  Work& work_;
  grpc::CompletionQueue& queue_;
  std::unique_ptr<grpc::Alarm> alarm_;
  int64_t posted_ = 0;
};

// Whether `condition` comes to hold within a minute: other tests may have the
// CPUs meanwhile.
bool Comes(const std::function<bool()>& condition) {
  const auto end = Clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(50));
  }
  return true;
}

TEST(PollersWantedTest, AsManyAreWantedAsAreBusy) {
  struct Row {
    int count, most;
    double busy;
    bool is_shared;
    int wanted;
  };
  for (const Row& row : std::vector<Row>{
           {1, 8, 0.7, true, 1},   // one suffices
           {1, 8, 0.8, true, 2},   // it does not
           {1, 8, 1.0, false, 1},  // but nobody waits for it
           {1, 1, 1.0, true, 1},   // and there is no CPU for another
           {2, 8, 1.6, true, 4},   // twice as many, whatever the load becomes
           {4, 6, 4.0, true, 6},   // but no more than may be
           {4, 8, 2.9, true, 4},   // busy enough
           {4, 8, 1.4, true, 3},   // three would be half idle
           {2, 8, 0.4, true, 1},
           {4, 8, 4.0, false, 3},  // hand events to each other
           {1, 8, 0.0, false, 1},  // one stays
       }) {
    EXPECT_EQ(Pollers::Wanted(row.count, row.most, row.busy, row.is_shared),
              row.wanted)
        << row.count << " of " << row.most << ", busy " << row.busy;
  }
}

class PollersTest : public testing::Test {
 protected:
  void Begin() {
    for (int i = 0; i < 8; ++i)
      jobs_.push_back(std::make_unique<Job>(work_, queue_));
  }

  // Waits for all that was posted.
  void End() {
    {
      const std::lock_guard lock(work_.mutex);
      work_.ends = true;
    }
    EXPECT_TRUE(Comes([&] {
      const std::lock_guard lock(work_.mutex);
      int64_t posted = 0;
      for (const auto& job : jobs_) posted += job->posted();
      return work_.runs == posted;
    }));
  }

  grpc::CompletionQueue queue_;
  Work work_;
  std::vector<std::unique_ptr<Job>> jobs_;
};

TEST_F(PollersTest, MoreComeForWorkAndLeaveAfterIt) {
  {
    Pollers pollers(queue_, 2);
    Begin();
    // Of one client, which waits for itself.
    for (int i = 0; i < 5; ++i) {
      std::this_thread::sleep_for(milliseconds(50));
      pollers.Adjust(/*is_shared=*/false);
      EXPECT_EQ(pollers.count(), 1);
    }
    EXPECT_EQ(work_.Threads().size(), 1U);
    EXPECT_EQ(work_.MostAtOnce(), 1);
    // And again, once the other has left.
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(Comes([&] {
        pollers.Adjust(/*is_shared=*/true);
        return pollers.count() == 2 && work_.Threads().size() == 2;
      }));
      pollers.Adjust(/*is_shared=*/false);
      EXPECT_EQ(pollers.count(), 1);
      EXPECT_TRUE(Comes([&] { return work_.Threads().size() == 1; }));
    }
    End();
    queue_.Shutdown();
  }
  EXPECT_EQ(work_.MostAtOnce(), 2);
}

TEST_F(PollersTest, IdleOnesLeaveByThemselves) {
  Pollers pollers(queue_, 4);
  Begin();
  EXPECT_TRUE(Comes([&] {
    pollers.Adjust(/*is_shared=*/true);
    return pollers.count() > 1;
  }));
  End();
  EXPECT_TRUE(Comes([&] {
    pollers.Adjust(/*is_shared=*/true);
    return pollers.count() == 1;
  }));
  queue_.Shutdown();
}

}  // namespace
}  // namespace axis
