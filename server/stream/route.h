// Routes: how the bytes of a stream get from its input to its outputs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "kernels/program.h"
#include "server/call/corridor.h"
#include "server/wire/payload.h"

namespace axis {

// At most so many bytes of input are moved at once: enough for all cores, few
// enough for outputs to leave meanwhile.
inline constexpr int64_t kBatchBytes = 4 << 20;

// What `payload` counts for where bytes are limited: small slices cost more
// than they hold.
inline int64_t CostOf(const Payload& payload) {
  constexpr int64_t kLeastCost = 1 << 10;
  return std::max(payload.size(),
                  static_cast<int64_t>(payload.slices().size()) * kLeastCost);
}

// Takes the first `size` bytes off `payload`, or all.
Payload CutFront(Payload& payload, int64_t size);

// The outputs, laid end to end, come out as the input goes in.
class Route {
 public:
  virtual ~Route() = default;

  // Moves bytes from the front of `in`, as many as there is room for. Returns
  // whether it moved any; if not, it needs more of them or a Take().
  // Errors: kCancelled  the call is over
  virtual absl::StatusOr<bool> Feed(Payload& in) = 0;

  // Whether Feed() costs next to nothing if there are `bytes` bytes in all.
  virtual bool IsLight(int64_t bytes) const = 0;

  // The next `size` bytes of the outputs, or as many as are ready; the rest of
  // them never changes.
  virtual Payload Take(int64_t size) = 0;
};

// The ways to go, the best one first.
//
//   kForward  the outputs end to end are the input: its slices are passed on
//   kScatter  one pass: what comes is written where it belongs at once, and
//             what is complete leaves
//   kCollect  anything else: waits for the whole input
enum class RouteKind { kForward, kScatter, kCollect };
RouteKind RouteOf(const Program& program);

// The memory that a route takes at a time, at most.
struct RouteBytes {
  int64_t least;  // with less it cannot be done
  int64_t best;   // with more it gets no faster
};
RouteBytes BytesOf(RouteKind kind, const Program& program);

// A route within `bytes` of memory, at least BytesOf(...).least.
// REQUIRES: `program`, of one input, and what `call` refers to outlive it.
std::unique_ptr<Route> MakeRoute(RouteKind kind, const Program& program,
                                 int64_t bytes, const CallContext& call);

}  // namespace axis
