// Whose turn it is: large calls compute in one arena, and those of clients that
// have one under way already when no others wait.
#pragma once

#include <tbb/task_arena.h>

#include <deque>
#include <functional>
#include <mutex>
#include <utility>

namespace axis {

// Thread-safe. Must outlive what was added.
class Turns {
 public:
  explicit Turns(tbb::task_arena& arena) : arena_(arena) {}

  // Calls `work` in the arena; if it `can_wait`, after all that cannot.
  void Add(std::function<void()> work, bool can_wait) {
    {
      const std::lock_guard lock(mutex_);
      (can_wait ? later_ : first_).push_back(std::move(work));
    }
    // A task for each, whichever it will then take.
    arena_.enqueue([this] { Next()(); });
  }

 private:
  std::function<void()> Next() {
    const std::lock_guard lock(mutex_);
    auto& from = first_.empty() ? later_ : first_;
    std::function<void()> work = std::move(from.front());
    from.pop_front();
    return work;
  }

  tbb::task_arena& arena_;
  std::mutex mutex_;
  std::deque<std::function<void()>> first_, later_;  // guarded by mutex_
};

}  // namespace axis
