// The corridor: the whole way of a request, room by room, without gRPC calls.
//
// Unpack -> Decode -> CompileProgram -> Execute -> Encode -> Pack. Bytes go
// through in one direction; nothing fails once the first byte has moved.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "kernels/copy/memory/buffer_pool.h"
#include "kernels/program.h"
#include "server/call/recipe.h"
#include "server/process/admission.h"
#include "server/process/metrics.h"
#include "server/wire/payload.h"

namespace axis {

// What a call needs beside its bytes.
struct CallContext {
  int64_t max_message_bytes;      // of the response; the request's was checked
  Admission::Lease& lease;        // what the call holds
  BufferPool& pool;               // where its memory comes from
  CallReport& report;             // where the rooms write what they did
  std::function<bool()> is_over;  // the client gave up or its time is up; is
                                  // asked between the parts of the work
  RecipeBook* recipes = nullptr;  // what earlier calls found out; may be null
};

// Adds the time of its scope to a phase of the report of a call.
class Phase {
 public:
  Phase(const CallContext& call, CallReport::Phase phase)
      : sum_(call.report.phases[phase]) {
    call.report.phase = phase;
  }
  ~Phase() { sum_ += absl::Now() - begin_; }
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

 private:
  absl::Duration& sum_;
  const absl::Time begin_ = absl::Now();
};

// A request or a response of `bytes` is refused if it is too large.
absl::Status CheckRequestBytes(int64_t bytes, const CallContext& call);
absl::Status CheckResponseBytes(int64_t bytes, const CallContext& call);

// Memory that others see, which the engine reads and writes where it lies. By
// buffer of the program; what is past the end of a list is ours.
struct Lent {
  std::vector<bool> sources;        // never shared: others may change it
  std::vector<std::byte*> targets;  // where to write it; null if ours
};

// The memory that `program` takes at most.
int64_t PeakBytes(const Program& program, const Lent& lent);

// Fills `buffers`, which hold the inputs of `program`, up with all it writes;
// those that nobody needs any more are empty. What comes from a lent source is
// a copy, what goes to a lent target refers to it.
// Errors: kCancelled  the call is over
// REQUIRES: lent sources and targets do not overlap.
absl::Status Execute(const Program& program, std::vector<Payload>& buffers,
                     const CallContext& call, const Lent& lent = {});

// Serves the bytes of a `Request` of axis.v1; clears `request` as soon as
// nobody reads it any more.
template <class Request>
absl::Status Serve(grpc::ByteBuffer& request, grpc::ByteBuffer& response,
                   const CallContext& call);

}  // namespace axis
