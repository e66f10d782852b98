#include "server/watch/log_writer.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace axis {
namespace {

constexpr size_t kMaxWaitingBytes = 1 << 20;
constexpr auto kPatience = std::chrono::seconds(1);

// A pipe that is ready takes as many bytes at once, or a whole line.
size_t EndOfPiece(const std::string& text, size_t begin) {
  const size_t end = begin + PIPE_BUF;
  if (end >= text.size()) return text.size();
  const size_t newline = text.rfind('\n', end - 1);
  return newline == std::string::npos || newline < begin ? end : newline + 1;
}

}  // namespace

struct LogWriter::State {
  explicit State(int where) : descriptor(where) {}

  // Whether [begin, end) of `text` is written.
  bool Write(const std::string& text, size_t begin, size_t end) {
    while (begin < end) {
      pollfd ready{.fd = descriptor, .events = POLLOUT, .revents = 0};
      if (poll(&ready, 1, 100) == 0) {
        // Nobody reads on. At the end that is waited for by the destructor.
        const std::lock_guard lock(mutex);
        if (ending) return false;
        continue;
      }
      const ssize_t n = write(descriptor, text.data() + begin, end - begin);
      if (n > 0) begin += static_cast<size_t>(n);
      if (n < 0 && errno != EINTR && errno != EAGAIN) return false;
    }
    return true;
  }

  const int descriptor;
  std::atomic<int64_t> dropped{0};
  std::mutex mutex;  // guards these:
  std::condition_variable changed;
  std::string waiting;
  bool ending = false, ended = false;
};

LogWriter::LogWriter(int descriptor)
    : state_(std::make_shared<State>(descriptor)) {
  std::thread([state = state_] { Run(state); }).detach();
}

LogWriter::~LogWriter() {
  std::unique_lock lock(state_->mutex);
  state_->ending = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, kPatience, [this] { return state_->ended; });
}

void LogWriter::Add(const std::string& line) {
  const std::lock_guard lock(state_->mutex);
  if (state_->waiting.size() + line.size() > kMaxWaitingBytes) {
    ++state_->dropped;
    return;
  }
  if (state_->waiting.empty()) state_->changed.notify_all();
  state_->waiting += line;
}

int64_t LogWriter::dropped() const { return state_->dropped; }

void LogWriter::Run(const std::shared_ptr<State>& state) {
  for (;;) {
    std::string text;
    {
      std::unique_lock lock(state->mutex);
      state->changed.wait(
          lock, [&] { return !state->waiting.empty() || state->ending; });
      if (state->waiting.empty()) {
        state->ended = true;
        state->changed.notify_all();
        return;
      }
      text.swap(state->waiting);
    }
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = EndOfPiece(text, begin);
      if (!state->Write(text, begin, end))
        state->dropped +=
            std::count(text.begin() + static_cast<ptrdiff_t>(begin),
                       text.begin() + static_cast<ptrdiff_t>(end), '\n');
      begin = end;
    }
  }
}

}  // namespace axis
