// Admission: how much may be held at a time, and by whom.
//
// Memory is asked for here before it is allocated, so that a full server
// refuses work at once instead of dying of it. While there is plenty, whoever
// comes first takes it; from half of it on no client gets more than its share:
// an equal part for each of those that have called within the last second.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace axis {

// Thread-safe. Must outlive its leases.
class Admission {
 public:
  // `max_inflight_calls` is of calls that count: those of more than a moment.
  explicit Admission(int64_t max_inflight_bytes,
                     int64_t max_inflight_calls = INT64_MAX)
      : max_(max_inflight_bytes), max_calls_(max_inflight_calls) {}

  // What one client holds.
  struct Client {
    std::atomic<int64_t> bytes{0};
    std::atomic<int64_t> calls{0};
    std::atomic<int64_t> seen_at{0};  // in Unix milliseconds
  };

  // What one call holds; gives it back when it goes.
  class Lease {
   public:
    explicit Lease(Admission& admission) : admission_(admission) {}
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    // Has the call be of `client` from here on, and count if `counts`.
    // Errors: kResourceExhausted  as many calls as may are under way, or as
    //         many of this client as is its share; with a delay
    // REQUIRES: nothing was taken yet.
    absl::Status Enter(std::shared_ptr<Client> client, bool counts);

    // Takes `bytes` more.
    // Errors: kResourceExhausted  the server is full, or this client holds its
    //         share, with a delay after which to try again; or the call alone
    //         exceeds the limit, without.
    absl::Status Take(int64_t bytes);

    // Whether the client has other calls under way; of all these, those count
    // that do.
    bool IsOneOfSeveral() const { return counts_ && client_->calls > 1; }

    // Null for a call that nobody owns.
    const std::shared_ptr<Client>& client() const { return client_; }

    // Why it was refused last: a value of the label `reason`, or null.
    const char* refused() const { return refused_; }

   private:
    Admission& admission_;
    std::shared_ptr<Client> client_;  // null for a call that nobody owns
    bool counts_ = false;
    int64_t held_ = 0;
    const char* refused_ = nullptr;
  };

  // The client called `name`, who is seen now.
  std::shared_ptr<Client> Find(absl::string_view name);

  // Whether shares are looked at.
  bool IsBusy() const { return held_ > max_ / 2 || calls_ > max_calls_ / 2; }

  int64_t held_bytes() const { return held_; }
  int64_t max_bytes() const { return max_; }
  int64_t calls() const { return calls_; }
  int64_t max_calls() const { return max_calls_; }
  int64_t clients() const { return active_; }

 private:
  // Forgets clients that are gone and counts those that are not.
  // REQUIRES: mutex_ is held.
  void Sweep(int64_t now);

  const int64_t max_, max_calls_;
  std::atomic<int64_t> held_{0};
  std::atomic<int64_t> calls_{0};
  std::atomic<int64_t> active_{0};
  std::mutex mutex_;  // guards these:
  absl::flat_hash_map<std::string, std::shared_ptr<Client>> clients_;
  int64_t swept_at_ = 0;
};

}  // namespace axis
