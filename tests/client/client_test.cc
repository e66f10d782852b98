// Claims of the client: calls arrive as they were made, errors come back whole,
// and size is bounded.
#include "client/client.h"

#include <gtest/gtest.h>

#include <chrono>
#include <complex>
#include <thread>

#include "tests/client/fake_server.h"
#include "tests/client/tensors.h"

namespace axis {
namespace {

using absl::StatusCode;

TEST(ClientTest, OpsReachTheirMethodsWithTheirFields) {
  FakeServer server;
  Client client(server.address());
  const std::string input =
      "input { data_type: DATA_TYPE_U8 shape: 2 shape: 3 data: \"abcdef\" } ";

  pb::Transpose transpose;
  transpose.add_order(1);
  transpose.add_order(0);
  auto output = client.Transpose(Small(), transpose);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->data_type, pb::DATA_TYPE_U8);
  EXPECT_EQ(output->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(Text(output->data), "abcdef");
  EXPECT_EQ(server.last(), "Transpose " + input + "op { order: 1 order: 0 }");

  pb::ShuffleChannels channels;
  channels.set_group(3);
  ASSERT_TRUE(client.ShuffleChannels(Small(), channels).ok());
  EXPECT_EQ(server.last(), "ShuffleChannels " + input + "op { group: 3 }");

  pb::Shuffle shuffle;
  shuffle.set_group_size(3);
  shuffle.set_direction(pb::Shuffle::DIRECTION_BACKWARD);
  ASSERT_TRUE(client.Shuffle(Small(), shuffle).ok());
  EXPECT_EQ(server.last(), "Shuffle " + input +
                               "op { group_size: 3 direction: "
                               "DIRECTION_BACKWARD }");

  pb::VariadicSplit split;
  split.set_axis(1);
  split.add_split_lengths(-1);
  const auto pieces = client.VariadicSplit(Small(), split);
  ASSERT_TRUE(pieces.ok()) << pieces.status();
  EXPECT_EQ(pieces->size(), 2u);
  EXPECT_EQ(server.last(),
            "VariadicSplit " + input + "op { axis: 1 split_lengths: -1 }");
}

TEST(ClientTest, AnOpWithoutAttributesIsSent) {
  FakeServer server;
  ASSERT_TRUE(Client(server.address()).Transpose(Small(), {}).ok());
  EXPECT_NE(server.last().find("op { }"), std::string::npos) << server.last();
}

TEST(ClientTest, APipelineIsSentAsItIs) {
  FakeServer server;
  pb::Op op;
  op.mutable_transpose();
  const auto outputs =
      Client(server.address()).RunPipeline({Small(), Small()}, {op});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(outputs->size(), 2u);
  const std::string input =
      "inputs { data_type: DATA_TYPE_U8 shape: 2 shape: 3 data: \"abcdef\" } ";
  EXPECT_EQ(server.last(),
            "RunPipeline " + input + input + "ops { transpose { } }");
}

TEST(ClientTest, RefusalsNameTheField) {
  FakeServer server;
  server.before = [] { return Refusal("op.order[1]", "must differ, is 0"); };
  const auto status = Client(server.address()).Transpose(Small(), {}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "op.order[1]: must differ, is 0");
  EXPECT_EQ(Client::FieldOf(status), "op.order[1]");
  EXPECT_EQ(server.calls(), 1);
}

TEST(ClientTest, ErrorsWithoutDetailsNameNone) {
  FakeServer server;
  server.before = [] {
    return grpc::Status(grpc::StatusCode::INTERNAL, "oops", "\xff garbage");
  };
  const auto status = Client(server.address()).Transpose(Small(), {}).status();
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_EQ(status.message(), "oops");
  EXPECT_EQ(Client::FieldOf(status), "");
  EXPECT_EQ(Client::FieldOf(absl::OkStatus()), "");
}

TEST(ClientTest, AnOutputThatDoesNotFitItsShapeIsInternal) {
  FakeServer server;
  server.answer = [](pb::RunPipelineResponse* response) {
    response->mutable_outputs(0)->set_shape(0, 3);
  };
  const auto status =
      Client(server.address()).RunPipeline({Small()}, {}).status();
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_NE(status.message().find("6 bytes does not fit"), std::string::npos)
      << status;
}

TEST(ClientTest, AnAnswerThatIsNoMessageIsInternal) {
  class Garbage : public pb::TensorService::WithRawCallbackMethod_Transpose<
                      pb::TensorService::Service> {
    grpc::ServerUnaryReactor* Transpose(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer*,
                                        grpc::ByteBuffer* out) override {
      const grpc::Slice slice("\x0a\xff\xff\xff\xff\x0f garbage");
      *out = grpc::ByteBuffer(&slice, 1);
      grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
      reactor->Finish(grpc::Status::OK);
      return reactor;
    }
  } service;
  int port = 0;
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  const auto server = builder.RegisterService(&service).BuildAndStart();
  server->GetHealthCheckService()->SetServingStatus("readiness", true);
  const auto status = Client("127.0.0.1:" + std::to_string(port))
                          .Transpose(Small(), {})
                          .status();
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_NE(status.message().find("not a message"), std::string::npos)
      << status;
}

TEST(ClientTest, TheBytesOfTheCallerAreLetGoAfterTheCall) {
  FakeServer server;
  Client client(server.address());
  const auto owner = std::make_shared<const std::string>(8 << 20, 'x');
  Tensor tensor = MakeTensor<uint8_t>({8 << 20}, {});
  tensor.data = Bytes::Share(owner->data(), owner->size(), owner);
  EXPECT_TRUE(client.Transpose(tensor, {}).ok());
  tensor = Tensor();
  for (int i = 0; i < 500 && owner.use_count() > 1; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(ClientTest, MessagesMayBeLargerThanGrpcAllowsByDefault) {
  FakeServer server;
  const std::vector<int32_t> large(2 << 20, 7);  // 8 MiB
  const auto output = Client(server.address())
                          .Transpose(MakeTensor<int32_t>({2 << 20}, large), {});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->data.size(), large.size() * 4);
}

TEST(ClientTest, MessagesAboveTheLimitAreNotSent) {
  FakeServer server;
  Client::Options options;
  options.max_message_bytes = 1000;
  Client client(server.address(), options);
  const std::vector<uint8_t> data(1000);
  const auto status =
      client.Transpose(MakeTensor<uint8_t>({1000}, data), {}).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status;
  // Our words: gRPC has a check too, but does not survive more than 2 GiB.
  EXPECT_NE(status.message().find("max_message_bytes"), std::string::npos);
  EXPECT_EQ(server.calls(), 0);
  EXPECT_TRUE(client.Transpose(Small(), {}).ok());
}

TEST(ClientTest, ThreadsShareAClient) {
  FakeServer server;
  Client client(server.address());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&client] {
      for (int k = 0; k < 20; ++k)
        EXPECT_TRUE(client.Transpose(Small(), {}).ok());
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server.calls(), 80);
}

TEST(TensorTest, ElementsComeBack) {
  const std::vector<std::complex<double>> numbers = {{1, 2}, {3, 4}};
  const Tensor tensor = MakeTensor<std::complex<double>>({2}, numbers);
  EXPECT_EQ(tensor.data_type, pb::DATA_TYPE_C128);
  EXPECT_EQ(tensor.data.size(), 32u);
  const auto elements = Elements<std::complex<double>>(tensor);
  ASSERT_TRUE(elements.ok());
  EXPECT_EQ(*elements, numbers);
}

TEST(TensorTest, ElementsAreOfTheTypeOfTheTensor) {
  Tensor tensor = MakeTensor<float>({}, {1.5f});
  EXPECT_TRUE(tensor.shape.empty());
  EXPECT_EQ(Elements<int32_t>(tensor).status().message(),
            "data_type: must be DATA_TYPE_I32, is DATA_TYPE_F32");
  tensor.data = tensor.data.Sub(0, 3);
  EXPECT_FALSE(Elements<float>(tensor).ok());
}

}  // namespace
}  // namespace axis
