// Whose turn it is: large calls compute in one arena, and those of clients that
// have one under way already when no others wait, or between two parts.
#pragma once

#include <tbb/task_arena.h>

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
  explicit Turns(tbb::task_arena& arena) : arena_(arena) {}

  // Calls `work` in the arena; if it `can_wait`, after all that cannot.
  void Add(std::function<void()> work, bool can_wait) {
    {
      const std::lock_guard lock(queues_->mutex);
      (can_wait ? queues_->later : queues_->first).push_back(std::move(work));
    }
    // A task for each, whichever it will then take.
    arena_.enqueue([queues = queues_] {
      if (const auto next = queues->Next(/*may_be_later=*/true)) next();
    });
  }

  // Calls all that cannot wait: for work that can, between two of its parts, on
  // its own thread. Who comes first then waits for a part of it, not for all.
  // That it may itself do so is ignored: the stack is finite.
  void GiveWay() {
    static thread_local bool gives_way = false;
    if (std::exchange(gives_way, true)) return;
    while (const auto next = queues_->Next(/*may_be_later=*/false)) {
      const WaitsForMemory scope;  // outside of its own MayRunOut
      next();
    }
    gives_way = false;
  }

 private:
  // Tasks whose work was done by GiveWay() may outlive everything else.
  struct Queues {
    // Null if nothing is left.
    std::function<void()> Next(bool may_be_later) {
      const std::lock_guard lock(mutex);
      auto& from = first.empty() && may_be_later ? later : first;
      if (from.empty()) return nullptr;
      std::function<void()> next = std::move(from.front());
      from.pop_front();
      return next;
    }

    std::mutex mutex;
    std::deque<std::function<void()>> first, later;  // guarded by mutex
  };

  tbb::task_arena& arena_;
  const std::shared_ptr<Queues> queues_ = std::make_shared<Queues>();
};

}  // namespace axis
