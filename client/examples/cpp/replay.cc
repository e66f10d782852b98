// Replays golden calls with protobuf and gRPC alone: replay HOST:PORT GOLDEN
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include "axis/v1/tensor_service.grpc.pb.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/message_differencer.h"
#include "grpcpp/create_channel.h"

namespace {

using axis::v1::TensorService;
using google::protobuf::Message;
using google::protobuf::Value;
using google::protobuf::util::JsonStringToMessage;
using google::protobuf::util::MessageDifferencer;
using google::protobuf::util::MessageToJsonString;

void Parse(const Value& spelled, Message& message) {
  std::string json;
  if (!MessageToJsonString(spelled, &json).ok() ||
      !JsonStringToMessage(json, &message).ok())
    throw std::runtime_error("not a call");
}

template <typename Request, typename Response>
bool Passes(TensorService::Stub& stub, const Value& call,
            grpc::Status (TensorService::Stub::*method)(grpc::ClientContext*,
                                                        const Request&,
                                                        Response*)) {
  const auto& fields = call.struct_value().fields();
  Request request;
  Response found, wanted;
  Parse(fields.at("request"), request);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::minutes(1));
  const grpc::Status status = (stub.*method)(&context, request, &found);
  if (fields.count("error") > 0)
    return status.error_code() == grpc::StatusCode::INVALID_ARGUMENT &&
           fields.at("error").string_value() == "INVALID_ARGUMENT";
  Parse(fields.at("response"), wanted);
  return status.ok() && MessageDifferencer::Equals(found, wanted);
}

bool Passes(TensorService::Stub& stub, const Value& call) {
  using Stub = TensorService::Stub;
  const std::string method =
      call.struct_value().fields().at("method").string_value();
  if (method == "Transpose") return Passes(stub, call, &Stub::Transpose);
  if (method == "Shuffle") return Passes(stub, call, &Stub::Shuffle);
  if (method == "ShuffleChannels")
    return Passes(stub, call, &Stub::ShuffleChannels);
  if (method == "VariadicSplit")
    return Passes(stub, call, &Stub::VariadicSplit);
  return method == "RunPipeline" && Passes(stub, call, &Stub::RunPipeline);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto stub = TensorService::NewStub(
      grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials()));
  int passed = 0, failed = 0;
  std::ifstream golden(argv[2]);
  for (std::string line; std::getline(golden, line);) {
    Value call;
    const bool passes =
        JsonStringToMessage(line, &call).ok() && Passes(*stub, call);
    ++(passes ? passed : failed);
    if (!passes) std::cout << "FAILED " << line.substr(0, 100) << "\n";
  }
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed > 0 ? 1 : 0;
}
