#include "client/client.h"

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/support/channel_arguments.h"

namespace axis {
namespace {

namespace health = ::grpc::health::v1;

constexpr char kBadRequestUrl[] = "type.googleapis.com/google.rpc.BadRequest";

// Round robin over the replicas that are ready, and retries. Both are what
// makes the restart of a replica go unnoticed.
std::string ServiceConfig(bool wait_for_ready) {
  return absl::StrCat(R"({
    "loadBalancingConfig": [{"round_robin": {}}],
    "healthCheckConfig": {"serviceName": "readiness"},
    "methodConfig": [{
      "name": [{"service": "axis.v1.TensorService"}],
      "waitForReady": )",
                      wait_for_ready ? "true" : "false", R"(,
      "retryPolicy": {
        "maxAttempts": 4,
        "initialBackoff": "0.1s",
        "maxBackoff": "1s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE"]
      }
    }]
  })");
}

std::shared_ptr<grpc::ChannelCredentials> Credentials(
    const Client::Options& options) {
  return options.tls ? grpc::SslCredentials(*options.tls)
                     : grpc::InsecureChannelCredentials();
}

std::shared_ptr<grpc::Channel> CallChannel(const std::string& target,
                                           const Client::Options& options) {
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(options.max_message_bytes);
  args.SetMaxSendMessageSize(options.max_message_bytes);
  args.SetServiceConfigJSON(ServiceConfig(options.wait_for_ready));
  // Only what fits this buffer is ever sent again (256 KiB by default). It
  // refers to the bytes of the request and copies none.
  args.SetInt(GRPC_ARG_PER_RPC_RETRY_BUFFER_SIZE, options.max_message_bytes);
  // Two minutes by default: too long to notice that a replica is back.
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5000);
  return grpc::CreateCustomChannel(target, Credentials(options), args);
}

}  // namespace

Client::Client(std::string target, const Options& options)
    : target_(std::move(target)),
      options_(options),
      channel_(CallChannel(target_, options_)),
      health_channel_(grpc::CreateChannel(target_, Credentials(options_))),
      stub_(pb::TensorService::NewStub(channel_)) {}

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

template <typename Request, typename Response>
absl::StatusOr<Response> Client::Call(Method<Request, Response> method,
                                      const Request& request) {
  // Asked here, because gRPC would not survive a message protobuf cannot hold.
  const size_t bytes = request.ByteSizeLong();
  if (bytes > static_cast<size_t>(options_.max_message_bytes))
    return absl::ResourceExhaustedError(absl::StrCat(
        "the request has ", bytes, " bytes, the client sends at most ",
        options_.max_message_bytes,
        " (max_message_bytes); StreamPipeline takes tensors of any size"));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + options_.timeout));
  Response response;
  const grpc::Status status =
      (stub_.get()->*method)(&context, request, &response);
  if (!status.ok()) return ToStatus(status, *channel_);
  return response;
}

absl::StatusOr<pb::Tensor> Client::Transpose(pb::Tensor input,
                                             const pb::Transpose& op) {
  pb::TransposeRequest request;
  *request.mutable_input() = std::move(input);
  *request.mutable_op() = op;
  auto response = Call(&pb::TensorService::Stub::Transpose, request);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_output());
}

absl::StatusOr<pb::Tensor> Client::ShuffleChannels(
    pb::Tensor input, const pb::ShuffleChannels& op) {
  pb::ShuffleChannelsRequest request;
  *request.mutable_input() = std::move(input);
  *request.mutable_op() = op;
  auto response = Call(&pb::TensorService::Stub::ShuffleChannels, request);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_output());
}

absl::StatusOr<pb::Tensor> Client::Shuffle(pb::Tensor input,
                                           const pb::Shuffle& op) {
  pb::ShuffleRequest request;
  *request.mutable_input() = std::move(input);
  *request.mutable_op() = op;
  auto response = Call(&pb::TensorService::Stub::Shuffle, request);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_output());
}

absl::StatusOr<std::vector<pb::Tensor>> Client::VariadicSplit(
    pb::Tensor input, const pb::VariadicSplit& op) {
  pb::VariadicSplitRequest request;
  *request.mutable_input() = std::move(input);
  *request.mutable_op() = op;
  auto response = Call(&pb::TensorService::Stub::VariadicSplit, request);
  if (!response.ok()) return response.status();
  std::vector<pb::Tensor> outputs;
  outputs.reserve(static_cast<size_t>(response->outputs_size()));
  for (pb::Tensor& output : *response->mutable_outputs())
    outputs.push_back(std::move(output));
  return outputs;
}

absl::StatusOr<pb::RunPipelineResponse> Client::Run(
    const pb::RunPipelineRequest& request) {
  return Call(&pb::TensorService::Stub::RunPipeline, request);
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
