// What a completion queue hands back: an object to run. And who waits for it.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "kernels/handover.h"

namespace axis {

class Event {
 public:
  // To start an operation with. The queue hands it back to RunTag().
  void* Tag() {
    HandOver(this);
    return this;
  }

  // Continues what the operation `tag` was started for; `ok` as gRPC defines it
  // for that. On a thread that polls, which must not block.
  static void RunTag(void* tag, bool ok) {
    TakeOver(tag);
    static_cast<Event*>(tag)->Run(ok);
  }

 protected:
  virtual void Run(bool ok) = 0;
  ~Event() = default;
};

// An event that calls a member function of its owner, so that one object can
// wait for several things.
template <class Owner, void (Owner::*kStep)(bool)>
class StepOf final : public Event {
 public:
  explicit StepOf(Owner* owner) : owner_(owner) {}

 private:
  void Run(bool ok) override { (owner_->*kStep)(ok); }

  Owner* const owner_;
};

// The calls on a completion queue, from before they arrive until they are gone.
// The queue must outlast them: gRPC ends the process if one of them begins
// anything on a queue that was shut down.
class LiveCalls {
 public:
  // Every call has one, as its first member: that is the last to go.
  class Place {
   public:
    explicit Place(LiveCalls& calls) : calls_(calls) { ++calls_.count_; }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { --calls_.count_; }

   private:
    LiveCalls& calls_;
  };

  // REQUIRES: the server was shut down, so that none is awaited any more, and
  // the queue is still polled.
  void AwaitNone() const {
    while (count_ > 0) absl::SleepFor(absl::Milliseconds(1));
  }

 private:
  std::atomic<int64_t> count_ = 0;
};

}  // namespace axis
