#include "client/client.h"

#include <algorithm>
#include <utility>

#include "absl/base/internal/sysinfo.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "axis/v1/tensor_service.pb.h"
#include "client/retry.h"
#include "client/wire.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/support/channel_arguments.h"

namespace axis {
namespace {

namespace health = ::grpc::health::v1;

constexpr char kBadRequestUrl[] = "type.googleapis.com/google.rpc.BadRequest";

// Round robin over the replicas that are ready, and retries. Both are what
// makes the restart of a replica go unnoticed.
std::string ServiceConfig(bool wait_for_ready) {
  return absl::Substitute(
      R"({
    "loadBalancingConfig": [{"round_robin": {}}],
    "healthCheckConfig": {"serviceName": "readiness"},
    "methodConfig": [{
      "name": [{"service": "axis.v1.TensorService"}],
      "waitForReady": $0,
      "retryPolicy": {
        "maxAttempts": $1,
        "initialBackoff": "$2s",
        "maxBackoff": "1s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"]
      }
    }]
  })",
      wait_for_ready, kMostAttempts, absl::ToDoubleSeconds(kFirstPause));
}

std::shared_ptr<grpc::ChannelCredentials> Credentials(
    const Client::Options& options) {
  return options.tls ? grpc::SslCredentials(*options.tls)
                     : grpc::InsecureChannelCredentials();
}

// A channel whose calls gRPC sends again if `retries`; for that it refers to
// their bytes and copies none.
std::shared_ptr<grpc::Channel> NewChannel(const std::string& target,
                                          const Client::Options& options,
                                          bool retries) {
  // Counts the CPUs once, which absl else does when a lock is first waited for.
  // Where there is no /sys, as in a bare chroot, that leaves an errno which
  // gRPC 1.51, if it is just connecting, takes for that of its connect().
  absl::base_internal::NumCPUs();
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(options.max_message_bytes);
  args.SetMaxSendMessageSize(options.max_message_bytes);
  args.SetServiceConfigJSON(ServiceConfig(options.wait_for_ready));
  args.SetInt(GRPC_ARG_ENABLE_RETRIES, retries);
  args.SetInt(GRPC_ARG_PER_RPC_RETRY_BUFFER_SIZE, options.max_message_bytes);
  // A second and two minutes by default: the one is longer than a call is tried
  // again, so that a connection that failed once would fail it; the other too
  // long to notice that a replica is back.
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5000);
  return grpc::CreateCustomChannel(target, Credentials(options), args);
}

absl::StatusOr<Tensor> Only(absl::StatusOr<std::vector<Tensor>> outputs) {
  if (!outputs.ok()) return outputs.status();
  if (outputs->size() != 1)
    return absl::InternalError(
        absl::StrCat("one output was due, ", outputs->size(), " came"));
  return std::move(outputs->front());
}

}  // namespace

Client::Client(std::string target, const Options& options)
    : target_(std::move(target)),
      options_(options),
      call_channel_(NewChannel(target_, options_, true)),
      stream_channel_(NewChannel(target_, options_, false)),
      health_channel_(grpc::CreateChannel(target_, Credentials(options_))),
      calls_(call_channel_),
      streams_(stream_channel_) {}

absl::Status Client::ToStatus(const grpc::Status& status,
                              grpc::Channel& channel) const {
  if (status.ok()) return absl::OkStatus();
  std::string message = status.error_message();
  const bool no_answer =
      status.error_code() == grpc::StatusCode::UNAVAILABLE ||
      status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  if (no_answer && channel.GetState(false) != GRPC_CHANNEL_READY)
    message = absl::StrCat("cannot reach ", target_, ": ", message);
  absl::Status result(static_cast<absl::StatusCode>(status.error_code()),
                      message);
  google::rpc::Status rich;
  if (rich.ParseFromString(status.error_details())) {
    for (const google::protobuf::Any& detail : rich.details())
      result.SetPayload(detail.type_url(), absl::Cord(detail.value()));
  }
  return result;
}

std::string Client::FieldOf(const absl::Status& status) {
  google::rpc::BadRequest bad;
  const auto payload = status.GetPayload(kBadRequestUrl);
  if (!payload || !bad.ParseFromString(std::string(*payload)) ||
      bad.field_violations().empty())
    return "";
  return bad.field_violations(0).field();
}

absl::StatusOr<std::vector<Tensor>> Client::Call(
    const char* method, absl::Span<const Tensor> inputs,
    const google::protobuf::Message& rest, absl::Span<const pb::Op> ops) {
  if (inputs.size() == 1 && inputs[0].data_type != pb::DATA_TYPE_STRING &&
      inputs[0].data.size() > static_cast<uint64_t>(std::max<int64_t>(
                                  options_.stream_threshold_bytes, 0)))
    return CallAsStream(inputs[0], ops);
  grpc::ByteBuffer request = PackRequest(inputs, rest);
  if (request.Length() > static_cast<size_t>(options_.max_message_bytes))
    return absl::ResourceExhaustedError(absl::StrCat(
        "the request has ", request.Length(),
        " bytes, the client sends at most ", options_.max_message_bytes,
        " (max_message_bytes); StreamPipeline takes tensors of any size"));

  // The calling thread waits on a queue of its own, and so does the polling:
  // gRPC's callbacks of 1.51 can stall for 100 ms after a second of idleness.
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + options_.timeout));
  grpc::CompletionQueue queue;
  const auto call = calls_.PrepareUnaryCall(
      &context, absl::StrCat("/axis.v1.TensorService/", method), request,
      &queue);
  request.Clear();
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag;
  bool ok;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  if (!status.ok()) return ToStatus(status, *call_channel_);

  const bool repeated =
      rest.GetDescriptor() == pb::RunPipelineRequest::descriptor() ||
      rest.GetDescriptor() == pb::VariadicSplitRequest::descriptor();
  auto outputs = UnpackResponse(response, repeated);
  if (!outputs.ok()) return outputs;
  for (const Tensor& output : *outputs) {
    if (output.data_type == pb::DATA_TYPE_STRING) continue;
    const absl::StatusOr<int64_t> bytes = DataBytes(output);
    if (!bytes.ok() || static_cast<uint64_t>(*bytes) != output.data.size())
      return absl::InternalError(absl::StrCat(
          "an output of ", output.data.size(), " bytes does not fit its type ",
          "and shape", bytes.ok() ? absl::StrCat(", ", *bytes, " bytes") : ""));
  }
  return outputs;
}

absl::StatusOr<Tensor> Client::Transpose(const Tensor& input,
                                         const pb::Transpose& op) {
  pb::TransposeRequest rest;
  *rest.mutable_op() = op;
  pb::Op step;
  *step.mutable_transpose() = op;
  return Only(Call("Transpose", {&input, 1}, rest, {step}));
}

absl::StatusOr<Tensor> Client::ShuffleChannels(const Tensor& input,
                                               const pb::ShuffleChannels& op) {
  pb::ShuffleChannelsRequest rest;
  *rest.mutable_op() = op;
  pb::Op step;
  *step.mutable_shuffle_channels() = op;
  return Only(Call("ShuffleChannels", {&input, 1}, rest, {step}));
}

absl::StatusOr<Tensor> Client::Shuffle(const Tensor& input,
                                       const pb::Shuffle& op) {
  pb::ShuffleRequest rest;
  *rest.mutable_op() = op;
  pb::Op step;
  *step.mutable_shuffle() = op;
  return Only(Call("Shuffle", {&input, 1}, rest, {step}));
}

absl::StatusOr<std::vector<Tensor>> Client::VariadicSplit(
    const Tensor& input, const pb::VariadicSplit& op) {
  pb::VariadicSplitRequest rest;
  *rest.mutable_op() = op;
  pb::Op step;
  *step.mutable_variadic_split() = op;
  return Call("VariadicSplit", {&input, 1}, rest, {step});
}

absl::StatusOr<std::vector<Tensor>> Client::RunPipeline(
    absl::Span<const Tensor> inputs, absl::Span<const pb::Op> ops) {
  pb::RunPipelineRequest rest;
  rest.mutable_ops()->Add(ops.begin(), ops.end());
  return Call("RunPipeline", inputs, rest, ops);
}

absl::StatusOr<bool> Client::Health(const std::string& service) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + options_.timeout));
  health::HealthCheckRequest request;
  request.set_service(service);
  health::HealthCheckResponse response;
  const grpc::Status status = health::Health::NewStub(health_channel_)
                                  ->Check(&context, request, &response);
  if (!status.ok()) return ToStatus(status, *health_channel_);
  return response.status() == health::HealthCheckResponse::SERVING;
}

}  // namespace axis
