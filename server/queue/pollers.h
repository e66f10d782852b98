// The threads that poll a completion queue and run its events: one while that
// suffices, more where several clients keep it busy and there are CPUs.
//
// Whoever polls also reads, writes and computes what is small. More of them
// than are busy only hand events to each other, at a wake-up for each.
#pragma once

#include <grpcpp/completion_queue.h>

#include <atomic>
#include <deque>
#include <thread>

#include "absl/time/time.h"

namespace axis {

class Pollers {
 public:
  // Starts with one, of `most` at the most. `queue` must outlive them.
  explicit Pollers(grpc::CompletionQueue& queue, int most = 1);

  // REQUIRES: the queue was shut down.
  ~Pollers();
  Pollers(const Pollers&) = delete;
  Pollers& operator=(const Pollers&) = delete;

  // Lets more of them poll, or fewer, by how busy they were since the last
  // time; `is_shared` says whether several connections were served at once. To
  // be called about once a second, by one thread.
  void Adjust(bool is_shared);

  // How many there are to be. One too many leaves within a second.
  int count() const { return count_; }

  // How many there should be where `count` were as busy as `busy` CPUs.
  static int Wanted(int count, int most, double busy, bool is_shared);

 private:
  struct Poller {
    std::thread thread;
    std::atomic<bool> polls{false};
    absl::Duration used;  // of a CPU
  };

  void Start(Poller& poller, int index);
  void Poll(int index);

  grpc::CompletionQueue& queue_;
  std::deque<Poller> pollers_;
  std::atomic<int> count_{1};
  absl::Time adjusted_;
};

}  // namespace axis
