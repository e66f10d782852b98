// A server in this process, a client over a real connection, and whom the
// server blames.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "axis/v1/tensor_service.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/elements/types.h"
#include "server/server.h"

namespace axis::testing {

// The path of the field that `status` blames; "" if none.
inline std::string FieldOf(const grpc::Status& status) {
  google::rpc::Status rich;
  google::rpc::BadRequest bad;
  if (!rich.ParseFromString(status.error_details()) ||
      rich.details_size() == 0 || !rich.details(0).UnpackTo(&bad))
    return "";
  return bad.field_violations(0).field();
}

class ServerTest : public ::testing::Test {
 protected:
  void StartWith(Options options) {
    options.listen = {"127.0.0.1:0"};
    options.metrics = "";
    options.drain_timeout = absl::Milliseconds(200);
    auto server = Server::Start(options, log_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    channel_ = grpc::CreateCustomChannel(
        absl::StrCat("127.0.0.1:", server_->ports()[0]),
        grpc::InsecureChannelCredentials(), arguments);
    stub_ = pb::TensorService::NewStub(channel_);
  }
  // Would hang if a call or stream did not end.
  void TearDown() override { server_->Shutdown(); }

  const Log log_{Log::Format::kText};
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<pb::TensorService::Stub> stub_;
};

}  // namespace axis::testing
