// Whose turn it is: large calls compute in one arena, and those of clients that
// have one under way already when no others wait, or between two parts.
#pragma once

#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "server/process/out_of_memory.h"

namespace axis {

// Thread-safe. Must outlive the work that was added.
class Turns {
 public:
  // `patience` is how long what gives way stands still for what it has not
  // called itself. Nothing must depend on who gives way, so it has an end.
  explicit Turns(tbb::task_arena& arena,
                 std::chrono::milliseconds patience = kPatience)
      : arena_(arena),
        queues_(std::make_shared<Queues>(arena.max_concurrency(), patience)) {}

  // Calls `work` in the arena; if it `can_wait`, after all that cannot.
  void Add(std::function<void()> work, bool can_wait) {
    queues_->Push(std::move(work), can_wait);
    // A task for each, whichever it will then take.
    arena_.enqueue([queues = queues_] { queues->Call(/*may_be_later=*/true); });
  }

  // For work that can wait, between two of its parts: calls all that cannot, on
  // its own thread. Who comes first then waits for a part of it, not for all.
  // And while such work is under way elsewhere, it leaves a core to the threads
  // that are no workers.
  void GiveWay() {
    // That who is given way to may itself do so is ignored: the stack is
    // finite.
    static thread_local bool gives_way = false;
    if (std::exchange(gives_way, true)) return;
    queues_->GiveWay();
    gives_way = false;
  }

 private:
  static constexpr std::chrono::milliseconds kPatience{10};

  // Tasks whose work was done by GiveWay() may outlive everything else.
  class Queues {
   public:
    Queues(int workers, std::chrono::milliseconds patience)
        : workers_(workers), patience_(patience) {}

    void Push(std::function<void()> work, bool can_wait) {
      const std::lock_guard lock(mutex_);
      (can_wait ? later_ : first_).push_back(std::move(work));
      changed_.notify_one();
    }

    // Calls the next; false if nothing is left.
    bool Call(bool may_be_later) {
      std::unique_lock lock(mutex_);
      const bool is_first = !first_.empty();
      auto& from = is_first ? first_ : later_;
      if (from.empty() || (!is_first && !may_be_later)) return false;
      const std::function<void()> next = std::move(from.front());
      from.pop_front();
      ++busy_;
      firsts_ += is_first;
      lock.unlock();
      const bool outer = std::exchange(is_first_, is_first);
      next();
      is_first_ = outer;
      lock.lock();
      --busy_;
      firsts_ -= is_first;
      changed_.notify_all();
      return true;
    }

    void GiveWay() {
      Leave(1);
      do {
        const WaitsForMemory scope;  // outside of its own MayRunOut
        while (Call(/*may_be_later=*/false)) {
        }
      } while (!is_first_ && AwaitFirst());
      Leave(-1);
    }

   private:
    void Leave(int workers) {
      const std::lock_guard lock(mutex_);
      busy_ -= workers;
    }

    // Waits while what cannot wait is under way and all other workers but one
    // are busy. Returns whether there is more of it.
    bool AwaitFirst() {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, patience_, [this] {
        return !first_.empty() || firsts_ == 0 || busy_ < workers_ - 1;
      });
      return !first_.empty();
    }

    static inline thread_local bool is_first_ = false;  // what is called here

    const int workers_;
    const std::chrono::milliseconds patience_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> first_, later_;
    int busy_ = 0;    // who is called and does not give way
    int firsts_ = 0;  // of what cannot wait
  };

  // Workers compute for milliseconds. All calls wait for the polling thread,
  // which wants a CPU for microseconds: it gets one sooner if workers weigh two
  // fifths with the kernel. They still get what nobody else wants, and beside
  // busy processes enough: at a tenth, calls of 4 ms took 30 to 50.
  class Niceness final : public tbb::task_scheduler_observer {
   public:
    explicit Niceness(tbb::task_arena& arena) : task_scheduler_observer(arena) {
      observe(true);
    }
    ~Niceness() override { observe(false); }

    void on_scheduler_entry(bool is_worker) override {
      static thread_local bool is_nice = false;
      // Linux: of this thread. Where it is not allowed, nothing is lost.
      if (is_worker && !std::exchange(is_nice, true)) (void)nice(4);
    }
  };

  tbb::task_arena& arena_;
  const Niceness niceness_{arena_};
  const std::shared_ptr<Queues> queues_;
};

}  // namespace axis
