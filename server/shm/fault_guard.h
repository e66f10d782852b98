// Survives peers that shrink a file under a mapping of ours: touching what is
// gone would end the process with SIGBUS.
#pragma once

#include <atomic>
#include <cstddef>

namespace axis {

// A range of memory that is guarded as long as the guard lives: where a page of
// it that is gone is touched, zeros take its place and that of all behind it,
// and `torn` is set.
//
// The first guard installs a handler of SIGBUS for the process; faults outside
// all guards end it as they would have. Thread-safe.
class FaultGuard {
 public:
  static constexpr size_t kMaxGuards = 1024;

  // REQUIRES: whole pages.
  FaultGuard(std::byte* begin, size_t bytes);
  ~FaultGuard();
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;

  // Whether there was a place left for this guard.
  bool ok() const { return slot_ < kMaxGuards; }
  bool torn() const;

 private:
  size_t slot_;
};

}  // namespace axis
