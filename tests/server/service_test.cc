// Claims of the service as a whole, in process over a real connection: ops
// arrive, errors name fields, limits hold, deadlines and cancellation end
// calls, health answers.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/time/clock.h"
#include "axis/v1/tensor_service.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "server/elements/types.h"
#include "server/server.h"
#include "tests/server/server_fixture.h"

namespace axis {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using testing::FieldOf;

class Service : public testing::ServerTest {
 protected:
  void SetUp() override { StartWith({}); }

  // A tensor of bytes 0, 1, 2, ...
  static void Fill(pb::Tensor* tensor, std::vector<int64_t> shape) {
    int64_t n = 1;
    for (int64_t e : shape) n *= e;
    tensor->set_data_type(pb::DATA_TYPE_U8);
    tensor->mutable_shape()->Assign(shape.begin(), shape.end());
    std::string& data = *tensor->mutable_data();
    for (int64_t i = 0; i < n; ++i) data += static_cast<char>(i);
  }
};

bool HasRetryInfo(const grpc::Status& status) {
  google::rpc::Status rich;
  return rich.ParseFromString(status.error_details()) &&
         rich.details_size() == 1 &&
         rich.details(0).Is<google::rpc::RetryInfo>();
}

TEST_F(Service, AnswersEveryMethod) {
  {
    pb::TransposeRequest q;
    pb::TransposeResponse r;
    grpc::ClientContext c;
    Fill(q.mutable_input(), {2, 3});
    q.mutable_op();
    ASSERT_TRUE(stub_->Transpose(&c, q, &r).ok());
    EXPECT_EQ(r.output().data(), std::string("\0\3\1\4\2\5", 6));
    EXPECT_EQ(r.output().shape(0), 3);
  }
  {
    pb::ShuffleChannelsRequest q;
    pb::ShuffleChannelsResponse r;
    grpc::ClientContext c;
    Fill(q.mutable_input(), {1, 6});
    q.mutable_op()->set_group(2);
    ASSERT_TRUE(stub_->ShuffleChannels(&c, q, &r).ok());
    EXPECT_EQ(r.output().data(), std::string("\0\3\1\4\2\5", 6));
  }
  {
    pb::VariadicSplitRequest q;
    pb::VariadicSplitResponse r;
    grpc::ClientContext c;
    Fill(q.mutable_input(), {5});
    q.mutable_op()->add_split_lengths(2);
    q.mutable_op()->add_split_lengths(-1);
    ASSERT_TRUE(stub_->VariadicSplit(&c, q, &r).ok());
    ASSERT_EQ(r.outputs_size(), 2);
    EXPECT_EQ(r.outputs(1).data(), "\2\3\4");
  }
  {
    pb::ShuffleRequest q;
    pb::ShuffleResponse r;
    grpc::ClientContext c;
    Fill(q.mutable_input(), {1, 6});
    q.mutable_op()->set_group_size(2);
    ASSERT_TRUE(stub_->Shuffle(&c, q, &r).ok());
    EXPECT_EQ(r.output().data(), std::string("\0\2\4\1\3\5", 6));
  }
  {
    pb::RunPipelineRequest q;
    pb::RunPipelineResponse r;
    grpc::ClientContext c;
    Fill(q.add_inputs(), {2, 2});
    Fill(q.add_inputs(), {1, 4});
    q.add_ops()->mutable_transpose();
    ASSERT_TRUE(stub_->RunPipeline(&c, q, &r).ok());
    ASSERT_EQ(r.outputs_size(), 2);
    EXPECT_EQ(r.outputs(0).data(), std::string("\0\2\1\3", 4));
    EXPECT_EQ(r.outputs(1).shape(0), 4);
  }
}

TEST_F(Service, OutputsOfABatchKeepTheTypesOfTheirInputs) {
  pb::RunPipelineRequest q;
  pb::RunPipelineResponse r;
  grpc::ClientContext c;
  Fill(q.add_inputs(), {4});
  Fill(q.add_inputs(), {4});
  q.mutable_inputs(1)->set_data_type(pb::DATA_TYPE_I16);
  q.mutable_inputs(1)->set_shape(0, 2);
  ASSERT_TRUE(stub_->RunPipeline(&c, q, &r).ok());
  EXPECT_EQ(r.outputs(0).data_type(), pb::DATA_TYPE_U8);
  EXPECT_EQ(r.outputs(1).data_type(), pb::DATA_TYPE_I16);
}

TEST_F(Service, ErrorsNameTheFieldAsTheMessageSpellsIt) {
  pb::RunPipelineRequest q;
  pb::RunPipelineResponse r;
  grpc::ClientContext c;
  Fill(q.add_inputs(), {2, 3});
  q.add_ops()->mutable_shuffle()->set_group_size(1);
  q.add_ops()->mutable_transpose()->add_order(0);
  q.mutable_ops(1)->mutable_transpose()->add_order(7);
  const grpc::Status status = stub_->RunPipeline(&c, q, &r);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(FieldOf(status), "ops[1].transpose.order[1]");
  EXPECT_EQ(status.error_message(),
            "ops[1].transpose.order[1]: must lie in [0, 2), is 7");
}

TEST_F(Service, AnAbsentOpIsRefused) {
  pb::TransposeRequest q;
  pb::TransposeResponse r;
  grpc::ClientContext c;
  Fill(q.mutable_input(), {2, 3});
  EXPECT_EQ(FieldOf(stub_->Transpose(&c, q, &r)), "op");
}

class SmallService : public Service {
 protected:
  void SetUp() override {
    StartWith({.max_message_bytes = 64 << 10, .max_inflight_bytes = 64 << 10});
  }
};

TEST_F(SmallService, AMessageOverTheLimitIsRefusedWithoutARetry) {
  pb::TransposeRequest q;
  pb::TransposeResponse r;
  grpc::ClientContext c;
  Fill(q.mutable_input(), {64 << 10});
  q.mutable_op();
  const grpc::Status status = stub_->Transpose(&c, q, &r);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(status.error_message().find("--max_message_bytes=65536"),
            std::string::npos);
  EXPECT_FALSE(HasRetryInfo(status));
}

TEST_F(SmallService, PaddingOfTheOutputsCounts) {
  pb::TransposeRequest q;
  pb::TransposeResponse r;
  grpc::ClientContext c;
  Fill(q.mutable_input(), {1, 16, 512});
  q.mutable_input()->set_layout(pb::LAYOUT_NCX16C);
  for (const int64_t axis : {1, 0, 2}) q.mutable_op()->add_order(axis);
  const grpc::Status status = stub_->Transpose(&c, q, &r);  // 128 KiB
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(status.error_message().find("--max_message_bytes=65536"),
            std::string::npos);
}

TEST_F(SmallService, ACallThatNeedsMoreThanTheServerHoldsIsRefused) {
  pb::TransposeRequest q;
  pb::TransposeResponse r;
  grpc::ClientContext c;
  Fill(q.mutable_input(), {200, 200});  // 40,000 bytes in and as many out
  q.mutable_op();
  const grpc::Status status = stub_->Transpose(&c, q, &r);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(status.error_message().find("--max_inflight_bytes=65536"),
            std::string::npos);
  grpc::ClientContext again;  // what the refused call held is given back
  q.mutable_input()->Clear();
  Fill(q.mutable_input(), {100, 200});
  EXPECT_TRUE(stub_->Transpose(&again, q, &r).ok());
}

// Requests of several tensors have no recipes.
TEST_F(SmallService, SoIsAPipelineOfSeveralTensors) {
  pb::RunPipelineRequest q;
  pb::RunPipelineResponse r;
  grpc::ClientContext c;
  for (int i = 0; i < 2; ++i) Fill(q.add_inputs(), {100, 200});
  q.add_ops()->mutable_transpose();
  const grpc::Status status = stub_->RunPipeline(&c, q, &r);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(status.error_message().find("--max_inflight_bytes=65536"),
            std::string::npos);
}

TEST_F(Service, HealthTellsAndWatchersAreTold) {
  const auto health = grpc::health::v1::Health::NewStub(channel_);
  HealthCheckRequest q;
  HealthCheckResponse r;
  for (const char* name : {"", "readiness", "liveness"}) {
    grpc::ClientContext c;
    q.set_service(name);
    ASSERT_TRUE(health->Check(&c, q, &r).ok());
    EXPECT_EQ(r.status(), HealthCheckResponse::SERVING);
  }
  {
    grpc::ClientContext c;
    q.set_service("nobody");
    EXPECT_EQ(health->Check(&c, q, &r).error_code(),
              grpc::StatusCode::NOT_FOUND);
  }
  grpc::ClientContext c;
  q.set_service("readiness");
  const auto watch = health->Watch(&c, q);
  ASSERT_TRUE(watch->Read(&r));
  EXPECT_EQ(r.status(), HealthCheckResponse::SERVING);
  server_->BecomeUnready();
  ASSERT_TRUE(watch->Read(&r));
  EXPECT_EQ(r.status(), HealthCheckResponse::NOT_SERVING);
  grpc::ClientContext alive;
  q.set_service("liveness");
  ASSERT_TRUE(health->Check(&alive, q, &r).ok());
  EXPECT_EQ(r.status(), HealthCheckResponse::SERVING);
}

TEST_F(Service, ADeadlineThatPassesEndsTheCall) {
  pb::RunPipelineRequest q;
  pb::RunPipelineResponse r;
  grpc::ClientContext c;
  c.set_deadline(absl::ToChronoTime(absl::Now() + absl::Milliseconds(1)));
  Fill(q.add_inputs(), {1 << 20, 6});
  for (int i = 0; i < 30; ++i) {
    q.add_ops()->mutable_shuffle_channels()->set_group(3);
    q.add_ops()->mutable_shuffle_channels()->set_group(2);
  }
  EXPECT_EQ(stub_->RunPipeline(&c, q, &r).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(Service, ATakenPortIsAClearError) {
  Options options;
  options.listen = {absl::StrCat("127.0.0.1:", server_->ports()[0])};
  options.metrics = "";
  const auto second = Server::Start(options, log_);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find(options.listen[0]),
            absl::string_view::npos);
}

}  // namespace
}  // namespace axis
