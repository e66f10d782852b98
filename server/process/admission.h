// Admission: how many bytes of requests and responses may be held at a time.
//
// Memory is asked for here before it is allocated, so that a full server
// refuses work at once instead of dying of it.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"

namespace axis {

// Thread-safe. Must outlive its leases.
class Admission {
 public:
  explicit Admission(int64_t max_inflight_bytes) : max_(max_inflight_bytes) {}

  // The bytes one call holds; gives them back when it goes.
  class Lease {
   public:
    explicit Lease(Admission& admission) : admission_(admission) {}
    ~Lease() { admission_.held_ -= held_; }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    // Takes `bytes` more.
    // Errors: kResourceExhausted  the server is full, with a delay after which
    //         to try again; or the call alone exceeds the limit, without.
    absl::Status Take(int64_t bytes);

   private:
    Admission& admission_;
    int64_t held_ = 0;
  };

  int64_t held_bytes() const { return held_; }
  int64_t max_bytes() const { return max_; }

 private:
  const int64_t max_;
  std::atomic<int64_t> held_{0};
};

}  // namespace axis
