#include "server/queue/pollers.h"

#include <pthread.h>
#include <tbb/task_arena.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "absl/time/clock.h"
#include "server/queue/event.h"

namespace axis {
namespace {

// Of a second that each of them computes, or reads and writes: from which on
// there should be more, and below which the others could do it.
constexpr double kBusy = 0.75;
constexpr double kIdle = 0.5;

// How long one that may have to leave waits for an event.
constexpr std::chrono::seconds kPatience(1);

// What a thread has used of a CPU.
absl::Duration UsedBy(std::thread& thread) {
  clockid_t clock{};
  timespec used{};
  if (pthread_getcpuclockid(thread.native_handle(), &clock) != 0 ||
      clock_gettime(clock, &used) != 0)
    return absl::ZeroDuration();
  return absl::DurationFromTimespec(used);
}

}  // namespace

Pollers::Pollers(grpc::CompletionQueue& queue, int most)
    : queue_(queue),
      pollers_(static_cast<size_t>(most)),
      adjusted_(absl::Now()) {
  Start(pollers_.front(), 0);
}

Pollers::~Pollers() {
  for (Poller& poller : pollers_)
    if (poller.thread.joinable()) poller.thread.join();
}

int Pollers::Wanted(int count, int most, double busy, bool is_shared) {
  if (!is_shared || busy < kIdle * (count - 1)) return std::max(1, count - 1);
  return busy > kBusy * count ? std::min(most, 2 * count) : count;
}

void Pollers::Adjust(bool is_shared) {
  absl::Duration used;
  for (Poller& poller : pollers_) {
    if (!poller.polls) continue;
    const absl::Duration before = poller.used;
    used += (poller.used = UsedBy(poller.thread)) - before;
  }
  const absl::Time now = absl::Now();
  const double busy = absl::FDivDuration(used, now - adjusted_);
  adjusted_ = now;
  count_ = Wanted(count_, static_cast<int>(pollers_.size()), busy, is_shared);
  for (int i = 1; i < count_; ++i) {
    Poller& poller = pollers_[static_cast<size_t>(i)];
    if (poller.polls) continue;
    try {
      Start(poller, i);
    } catch (const std::system_error&) {
      poller.polls = false;
      count_ = i;  // there is no room for more threads
    }
  }
}

void Pollers::Start(Poller& poller, int index) {
  if (poller.thread.joinable()) poller.thread.join();
  poller.used = absl::ZeroDuration();
  poller.polls = true;
  poller.thread = std::thread([this, &poller, index] {
    // What they compute they compute alone: it would be done by the time that
    // a worker is awake.
    tbb::task_arena(1).execute([this, index] { Poll(index); });
    poller.polls = false;
  });
}

void Pollers::Poll(int index) {
  void* tag = nullptr;
  bool ok = false;
  if (index == 0) {
    while (queue_.Next(&tag, &ok)) Event::RunTag(tag, ok);
    return;
  }
  while (index < count_) {
    switch (queue_.AsyncNext(&tag, &ok,
                             std::chrono::system_clock::now() + kPatience)) {
      case grpc::CompletionQueue::GOT_EVENT:
        Event::RunTag(tag, ok);
        break;
      case grpc::CompletionQueue::TIMEOUT:
        break;
      case grpc::CompletionQueue::SHUTDOWN:
        return;
    }
  }
}

}  // namespace axis
