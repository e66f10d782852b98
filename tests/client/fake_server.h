// A TensorService in this process that answers as a test says, so that the
// client is tested without the server it was written for.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "axis/v1/tensor_service.grpc.pb.h"
#include "google/protobuf/text_format.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/ext/health_check_service_server_builder_option.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"

namespace axis {

namespace pb = ::axis::v1;

// Echoes every input; `before` may refuse or delay a call. Keeps the last
// request, as text, after the name of its method; of a stream that is its first
// message.
class FakeServer : public pb::TensorService::Service {
 public:
  explicit FakeServer(std::string address = "127.0.0.1:0",
                      std::shared_ptr<grpc::ServerCredentials> credentials =
                          grpc::InsecureServerCredentials()) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(address, std::move(credentials), &port)
        .SetMaxReceiveMessageSize(-1)
        .RegisterService(this);
    server_ = builder.BuildAndStart();
    SetReady(true);
    address_ = port > 1 ? "127.0.0.1:" + std::to_string(port) : address;
  }
  ~FakeServer() override { server_->Shutdown(); }

  const std::string& address() const { return address_; }
  int calls() const { return calls_; }

  std::string last() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }

  void SetReady(bool ready) {
    server_->GetHealthCheckService()->SetServingStatus("readiness", ready);
  }

  // What to do before answering; set while no call is under way.
  std::function<grpc::Status()> before = [] { return grpc::Status::OK; };

  // What a pipeline answers, if not its inputs.
  std::function<void(pb::RunPipelineResponse*)> answer;

  // What a stream does after its first message, if not echo.
  using Stream = grpc::ServerReaderWriter<pb::StreamPipelineResponse,
                                          pb::StreamPipelineRequest>;
  std::function<grpc::Status(Stream*)> stream;

  grpc::Status Transpose(grpc::ServerContext*, const pb::TransposeRequest* in,
                         pb::TransposeResponse* out) override {
    *out->mutable_output() = in->input();
    return Note("Transpose", *in);
  }
  grpc::Status ShuffleChannels(grpc::ServerContext*,
                               const pb::ShuffleChannelsRequest* in,
                               pb::ShuffleChannelsResponse* out) override {
    *out->mutable_output() = in->input();
    return Note("ShuffleChannels", *in);
  }
  grpc::Status Shuffle(grpc::ServerContext*, const pb::ShuffleRequest* in,
                       pb::ShuffleResponse* out) override {
    *out->mutable_output() = in->input();
    return Note("Shuffle", *in);
  }
  grpc::Status VariadicSplit(grpc::ServerContext*,
                             const pb::VariadicSplitRequest* in,
                             pb::VariadicSplitResponse* out) override {
    *out->add_outputs() = in->input();
    *out->add_outputs() = in->input();
    return Note("VariadicSplit", *in);
  }
  grpc::Status RunPipeline(grpc::ServerContext*,
                           const pb::RunPipelineRequest* in,
                           pb::RunPipelineResponse* out) override {
    *out->mutable_outputs() = in->inputs();
    if (answer) answer(out);
    return Note("RunPipeline", *in);
  }
  grpc::Status StreamPipeline(grpc::ServerContext*, Stream* call) override {
    pb::StreamPipelineRequest in;
    if (!call->Read(&in)) return {grpc::StatusCode::INVALID_ARGUMENT, "input"};
    const grpc::Status status = Note("StreamPipeline", in);
    if (!status.ok()) return status;
    if (stream) return stream(call);
    pb::StreamPipelineResponse out;
    do {
      *out.mutable_output() = std::move(*in.mutable_input());
      call->Write(out);
    } while (call->Read(&in));
    return grpc::Status::OK;
  }

 private:
  grpc::Status Note(const std::string& method,
                    const google::protobuf::Message& request) {
    // Not ShortDebugString(), whose text newer protobufs vary on purpose.
    google::protobuf::TextFormat::Printer printer;
    printer.SetSingleLineMode(true);
    std::string text;
    printer.PrintToString(request, &text);
    if (text.ends_with(' ')) text.pop_back();
    {
      const std::lock_guard lock(mutex_);
      last_ = method + " " + text;
    }
    ++calls_;
    return before();
  }

  mutable std::mutex mutex_;
  std::string last_;  // guarded by `mutex_`
  std::atomic<int> calls_ = 0;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

// The refusal of `field`, as axisd spells it.
inline grpc::Status Refusal(const std::string& field, const std::string& why) {
  google::rpc::BadRequest bad;
  auto* const violation = bad.add_field_violations();
  violation->set_field(field);
  violation->set_description(why);
  google::rpc::Status rich;
  rich.set_code(static_cast<int>(grpc::StatusCode::INVALID_ARGUMENT));
  rich.set_message(field + ": " + why);
  std::ignore = rich.add_details()->PackFrom(bad);
  return {grpc::StatusCode::INVALID_ARGUMENT, rich.message(),
          rich.SerializeAsString()};
}

}  // namespace axis
