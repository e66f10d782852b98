// A progress bar on standard error, for people: nothing is shown if standard
// error is no terminal, nor in the first second.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace axis {

// Shows one activity from construction to destruction, and then clears the
// line. Not thread-safe, but for the thread that it makes itself.
class Progress {
 public:
  // `total` is in any unit; 0 if unknown, which shows the time alone. `detail`
  // is called by a thread of its own for what to say after the time.
  Progress(std::string what, int64_t total,
           std::function<std::string()> detail = {});
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` of the total are done.
  void Set(int64_t done) { done_ = done; }

 private:
  void Draw();

  const std::string what_;
  const int64_t total_;
  const std::function<std::string()> detail_;
  std::atomic<int64_t> done_ = 0;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;  // guarded by `mutex_`
  std::thread thread_;
};

}  // namespace axis
