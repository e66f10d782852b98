// What ThreadSanitizer cannot see by itself: it takes a library that is not
// built with it (libtbb, gRPC) for one that synchronizes nothing.
#pragma once

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace axis {

// Before something is given to such a library, which another thread then gets
// from it: what was written so far is seen by whoever calls TakeOver() for the
// same `token`, as the library sees to anyway. Does nothing but for the
// sanitizer.
inline void HandOver([[maybe_unused]] void* token) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(token);
#endif
}

inline void TakeOver([[maybe_unused]] void* token) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(token);
#endif
}

// Both, for as long as it lives: such a library has one thread at a time use
// what `token` stands for.
class InTurn {
 public:
  explicit InTurn(void* token) : token_(token) { TakeOver(token_); }
  ~InTurn() { HandOver(token_); }
  InTurn(const InTurn&) = delete;
  InTurn& operator=(const InTurn&) = delete;

 private:
  void* const token_;
};

}  // namespace axis
