// A stream: request messages in, response messages out, one tensor rearranged
// in between. Knows no gRPC calls and no threads.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "axis/v1/tensor_service.pb.h"
#include "kernels/program.h"
#include "server/call/codec.h"
#include "server/call/corridor.h"
#include "server/process/admission.h"
#include "server/stream/route.h"

namespace axis {

// No response message is larger than this.
inline constexpr int64_t kMaxResponseBytes = 1 << 20;

// Beyond this many bytes received and not yet moved, do not read on; beyond
// this many packed and not yet sent, do not pack on.
inline constexpr int64_t kBacklogBytes = 4 << 20;

class Stream {
 public:
  // What `call` refers to, and `admission`, must outlive the stream. Messages
  // received have at most call.max_message_bytes.
  Stream(const CallContext& call, Admission& admission)
      : call_(call), admission_(admission) {}

  // Takes the next message of the client, and all its bytes. The first one
  // takes the memory that the whole stream needs from the lease of the call.
  // Errors: of the header, as in RunPipeline of one `input`; besides:
  //   "input.values"     is set; also "input.data_type" if it is STRING
  //   "input.data"       passes the end of the tensor
  //   "input.<field>", "ops"  is set in a message that is not the first
  //   kResourceExhausted  the server is full, or the tensor too large for it
  absl::Status Receive(grpc::ByteBuffer& message);

  // The client has sent its last message.
  // Errors: "input"       there was none
  //         "input.data"  ends before the tensor does
  absl::Status HalfClose();

  // Moves some of what was received. Returns whether there was any to move.
  absl::StatusOr<bool> Work();

  // The next message to send, if it is ready.
  std::optional<grpc::ByteBuffer> NextMessage();

  // What was received and not yet moved counts for.
  int64_t backlog() const { return CostOf(pending_); }
  // Whether Work() costs next to nothing for messages of `bytes` bytes.
  bool IsLight(int64_t bytes) const;
  // Whether all is received and all of the outputs has been handed out.
  bool IsDone() const;

 private:
  absl::Status Begin(WireTensor& tensor, const pb::StreamPipelineRequest& rest);
  absl::Status Admit(RouteKind kind, int64_t& bytes);
  absl::Status Append(const Payload& data);

  const CallContext call_;
  Admission& admission_;
  std::optional<Admission::Lease> excess_;  // for messages of many MiB

  Input input_;
  Program program_;
  std::unique_ptr<Route> route_;  // null before the first message

  Payload pending_;
  int64_t received_ = 0;
  bool half_closed_ = false;
  size_t output_ = 0;  // the one that is handed out
  int64_t taken_ = 0;  // bytes of it
  bool begun_ = false;
};

}  // namespace axis
