#include "server/connections/linger.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "server/connections/callers.h"
#include "server/connections/conversations.h"

namespace axis {
namespace {

using Clock = std::chrono::steady_clock;

// So long a client has to read and to close; so many may take that long, and
// a descriptor above the last is closed as ever.
constexpr auto kPatience = std::chrono::seconds(1);
constexpr size_t kMaxLingering = 256;
constexpr size_t kMaxDescriptors = 1 << 20;

int Close(int descriptor) {
  Leave(descriptor);
  return static_cast<int>(syscall(SYS_close, descriptor));
}

int Shutdown(int connection, int how) {
  return static_cast<int>(syscall(SYS_shutdown, connection, how));
}

// Which descriptors are connections of clients: a bit for each.
class Connections {
 public:
  void Add(int descriptor) {
    if (IsKnown(descriptor)) Word(descriptor).fetch_or(Bit(descriptor));
  }
  bool Has(int descriptor) {
    return IsKnown(descriptor) && (Word(descriptor).load() & Bit(descriptor));
  }
  // Whether it was there.
  bool Remove(int descriptor) {
    return IsKnown(descriptor) &&
           (Word(descriptor).fetch_and(~Bit(descriptor)) & Bit(descriptor));
  }

 private:
  static bool IsKnown(int descriptor) {
    return descriptor >= 0 && static_cast<size_t>(descriptor) < kMaxDescriptors;
  }
  static uint64_t Bit(int descriptor) { return uint64_t{1} << descriptor % 64; }
  std::atomic<uint64_t>& Word(int descriptor) {
    return words_[static_cast<size_t>(descriptor / 64)];
  }

  std::array<std::atomic<uint64_t>, kMaxDescriptors / 64> words_{};
};

// Reads and forgets; whether the client may still send or read.
bool IsOpen(int connection) {
  std::array<std::byte, 1 << 14> scrap;
  for (int reads = 0; reads < 64; ++reads) {
    const ssize_t got =
        recv(connection, scrap.data(), scrap.size(), MSG_DONTWAIT);
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
  }
  return true;
}

// Waits for the clients of connections, in a thread of its own that begins
// with the first of them and ends with the process.
class Waiter {
 public:
  // Whether it takes the connection over.
  bool Take(int connection) {
    const std::lock_guard lock(mutex_);
    if (lingering_.size() >= kMaxLingering) return false;
    lingering_.push_back({connection, Clock::now() + kPatience});
    if (!is_running_) {
      std::thread([this] { Run(); }).detach();
      is_running_ = true;
    }
    changed_.notify_all();
    return true;
  }

  void Await() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [this] { return lingering_.empty(); });
  }

 private:
  struct Lingering {
    int connection;
    Clock::time_point end;
  };

  [[noreturn]] void Run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !lingering_.empty(); });
      std::vector<pollfd> waiting;
      for (const Lingering& each : lingering_)
        waiting.push_back({each.connection, POLLIN, 0});
      lock.unlock();
      // Newcomers are looked at after this.
      poll(waiting.data(), waiting.size(), /*milliseconds=*/20);
      lock.lock();
      const Clock::time_point now = Clock::now();
      std::erase_if(lingering_, [now](const Lingering& each) {
        if (now < each.end && IsOpen(each.connection)) return false;
        Close(each.connection);
        return true;
      });
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Lingering> lingering_;  // guarded by mutex_, as is is_running_
  bool is_running_ = false;
};

constinit Connections connections;

// Never destroyed: descriptors are closed until the very end of the process.
Waiter& waiter() {
  static Waiter& the = *new Waiter;
  return the;
}

}  // namespace

void CloseGently(int connection) { connections.Add(connection); }

void AwaitLingering() { waiter().Await(); }

}  // namespace axis

// The linker takes these before those of the C library, for gRPC too.
extern "C" int shutdown(int connection, int how) {
  // Were reading shut down, too, then the next frame would be a reason to
  // reset. gRPC reads no more anyway.
  if (how == SHUT_RDWR && axis::connections.Has(connection)) how = SHUT_WR;
  return axis::Shutdown(connection, how);
}

extern "C" int close(int descriptor) {
  axis::EndConversation(descriptor);
  if (!axis::connections.Remove(descriptor)) return axis::Close(descriptor);
  axis::Shutdown(descriptor, SHUT_WR);
  if (axis::IsOpen(descriptor) && axis::waiter().Take(descriptor)) return 0;
  return axis::Close(descriptor);
}
