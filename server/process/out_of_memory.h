// What happens when the system has no memory left: the request at hand fails,
// and all else waits until there is some.
//
// The few bytes that a call takes to be kept track of cannot fail: there would
// be nobody left to tell. A server that waits for them serves on once others
// have given memory back; one that ends loses every call.
#pragma once

#include <utility>

namespace axis {

// While one lives on a thread, `new` throws std::bad_alloc there; the caller
// catches it. Elsewhere `new` waits.
class MayRunOut {
 public:
  MayRunOut() { ++depth_; }
  ~MayRunOut() { --depth_; }
  MayRunOut(const MayRunOut&) = delete;
  MayRunOut& operator=(const MayRunOut&) = delete;

  static bool IsOnThisThread() { return depth_ > 0; }

 private:
  friend class WaitsForMemory;
  static inline thread_local int depth_ = 0;
};

// While one lives on a thread, `new` waits there, whatever is around it: for
// code that an exception must not leave, such as a callback of C, or a message
// of protobuf that is half written.
class WaitsForMemory {
 public:
  WaitsForMemory() : depth_(std::exchange(MayRunOut::depth_, 0)) {}
  ~WaitsForMemory() { MayRunOut::depth_ = depth_; }
  WaitsForMemory(const WaitsForMemory&) = delete;
  WaitsForMemory& operator=(const WaitsForMemory&) = delete;

 private:
  const int depth_;
};

// Makes `new` of the whole process do so.
void WaitForMemory();

}  // namespace axis
