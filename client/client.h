// The C++ client of axisd: the one header a program includes to have tensors
// rearranged. The ops are messages of the contract; tensors are `axis::Tensor`,
// whose bytes go out and come in without a copy.
//
//   axis::Client client("localhost:8001");
//   auto nchw = axis::MakeTensor<float>({1, 3, 2, 2}, std::move(pixels));
//   axis::pb::Transpose op;
//   for (int64_t axis : {0, 2, 3, 1}) op.add_order(axis);
//   absl::StatusOr<axis::Tensor> nhwc = client.Transpose(nchw, op);
//   absl::StatusOr<std::vector<float>> out = axis::Elements<float>(*nhwc);
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "axis/v1/ops.pb.h"
#include "client/tensor.h"
#include "google/protobuf/message.h"
#include "grpcpp/channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/status.h"

namespace axis {

// A connection to one axisd or to many replicas behind one name. Blocking.
// Thread-safe: make one and share it; it connects when first used, and again
// after a loss.
//
// The ops are pure, so calls that a server did not answer (`UNAVAILABLE`, or
// `CANCELLED` by a server on its way out) are sent again, up to 4 times in all,
// and go round the replicas that say they are ready. A stream is sent again
// only as long as it is at its beginning: nothing received, and of its source
// no more than 4 MiB taken.
//
// Errors, of every call: the code and the message of the server, whose details
//     are payloads of the status (see `FieldOf`). Besides:
//   RESOURCE_EXHAUSTED  the request is above `max_message_bytes`; not sent
//   UNAVAILABLE         cannot reach a server, and not to wait for one
//   DEADLINE_EXCEEDED   no answer within `timeout`, or no server to ask
//   INTERNAL            the answer is none of the contract, or holds another
//                       number of bytes than its shape calls for
class Client {
 public:
  struct Options {
    // The time one call may take, retries and waiting for a server included.
    absl::Duration timeout = absl::Seconds(60);

    // Whether a call waits, up to `timeout`, for a server to come up. If not,
    // it fails within a second or two of the first refused connection.
    bool wait_for_ready = true;

    // The largest message sent or received. gRPC's own default is 4 MiB; 2 GiB
    // is where protobuf ends.
    int max_message_bytes = std::numeric_limits<int>::max();

    // A call of one tensor with more bytes of data than this goes as a stream,
    // which the limit of the server for a message (256 MiB unless set) does not
    // apply to. Fields in its errors are named as in a stream:
    // "ops[0].transpose.order" for "op.order". `STRING` never does.
    int64_t stream_threshold_bytes = int64_t{192} << 20;

    // How to prove who is who, in PEM; plaintext if absent. Empty roots are
    // those of the system; key and chain are for servers that ask for them.
    std::optional<grpc::SslCredentialsOptions> tls;
  };

  // Connects to `target`, "host:port" or "unix:PATH" (or any other name that
  // gRPC resolves), in the background.
  explicit Client(std::string target) : Client(std::move(target), Options{}) {}
  Client(std::string target, const Options& options);

  // Apply one op to a tensor. Outputs share the memory in which they arrived.
  absl::StatusOr<Tensor> Transpose(const Tensor& input,
                                   const pb::Transpose& op);
  absl::StatusOr<Tensor> ShuffleChannels(const Tensor& input,
                                         const pb::ShuffleChannels& op);
  absl::StatusOr<Tensor> Shuffle(const Tensor& input, const pb::Shuffle& op);
  absl::StatusOr<std::vector<Tensor>> VariadicSplit(
      const Tensor& input, const pb::VariadicSplit& op);

  // Applies several ops to several tensors, in one trip.
  absl::StatusOr<std::vector<Tensor>> RunPipeline(
      absl::Span<const Tensor> inputs, absl::Span<const pb::Op> ops);

  // The data that one message of a stream carries at most: 1 MiB less room for
  // what is around it. A multiple of every element.
  static constexpr size_t kPieceBytes = (size_t{1} << 20) - 64;

  // Gives the next bytes of a tensor; none at the end. They may be as many as
  // it likes, and are best a multiple of `kPieceBytes`.
  using Source = std::function<absl::StatusOr<Bytes>()>;

  // Takes the next bytes of the outputs: a piece with a `data_type` begins an
  // output, and has its shape and layout; those that follow continue its data.
  using Sink = std::function<absl::Status(Tensor piece)>;

  // Applies several ops to a tensor of any size that is sent and received in
  // pieces: that of `input`, whose data is `input.data` and then
  // what `source` gives. Holds a few pieces at a time.
  //
  // `sink` is called by the caller's thread and `source` by another one, at the
  // same time. An error of either ends the call, which returns it. Neither may
  // block for long: the call returns after them, even if it is past `timeout`.
  //
  // Errors: as above; the outputs so far are to be thrown away
  absl::Status StreamPipeline(const Tensor& input, absl::Span<const pb::Op> ops,
                              const Sink& sink, const Source& source = {});

  // Whether `service` takes calls; "" is the server as a whole.
  // Errors: NOT_FOUND  the server does not know the service
  absl::StatusOr<bool> Health(const std::string& service = "");

  // The path of the field that the server found wrong, such as "op.order[1]";
  // empty if it named none.
  static std::string FieldOf(const absl::Status& status);

 private:
  absl::StatusOr<std::vector<Tensor>> Call(
      const char* method, absl::Span<const Tensor> inputs,
      const google::protobuf::Message& rest, absl::Span<const pb::Op> ops);
  absl::StatusOr<std::vector<Tensor>> CallAsStream(
      const Tensor& input, absl::Span<const pb::Op> ops);
  absl::Status ToStatus(const grpc::Status& status,
                        grpc::Channel& channel) const;

  const std::string target_;
  const Options options_;
  // Streams must not be kept by gRPC for a second attempt, and so have a
  // channel of their own. Questions of health must not go to replicas that are
  // ready.
  const std::shared_ptr<grpc::Channel> call_channel_;
  const std::shared_ptr<grpc::Channel> stream_channel_;
  const std::shared_ptr<grpc::Channel> health_channel_;
  grpc::GenericStub calls_;
  grpc::GenericStub streams_;
};

}  // namespace axis
