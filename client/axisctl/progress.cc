#include "client/axisctl/progress.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

namespace axis {

Progress::Progress(std::string what, int64_t total,
                   std::function<std::string()> detail)
    : what_(std::move(what)), total_(total), detail_(std::move(detail)) {
  if (isatty(STDERR_FILENO)) thread_ = std::thread([this] { Draw(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_one();
  thread_.join();
}

void Progress::Draw() {
  using std::chrono::milliseconds;
  constexpr int kWidth = 40;
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  const auto stop = [this] { return stop_; };
  if (stopped_.wait_for(lock, milliseconds(1000), stop)) return;
  do {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count();
    if (total_ > 0) {
      const double part = std::clamp(
          static_cast<double>(done_.load()) / static_cast<double>(total_), 0.0,
          1.0);
      const std::string bar(static_cast<size_t>(part * kWidth), '#');
      std::fprintf(stderr, "\r%s [%-*s] %3.0f%% %.0f s", what_.c_str(), kWidth,
                   bar.c_str(), part * 100, seconds);
    } else {
      std::fprintf(stderr, "\r%s %.0f s", what_.c_str(), seconds);
    }
    std::fprintf(stderr, "%s\x1b[K", detail_ ? detail_().c_str() : "");
    std::fflush(stderr);
  } while (!stopped_.wait_for(lock, milliseconds(200), stop));
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

}  // namespace axis
