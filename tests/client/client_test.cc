// Claims of the client: calls arrive as they were made, errors come back whole,
// time and size are bounded, and a server that is away is waited for.
#include "client/client.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <complex>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/client/fake_server.h"

namespace axis {
namespace {

using absl::StatusCode;

Tensor Small() {
  return MakeTensor<uint8_t>({2, 3}, {'a', 'b', 'c', 'd', 'e', 'f'});
}

std::string Text(const Tensor& tensor) {
  std::string text(tensor.data.size(), '\0');
  tensor.data.CopyTo(text.data());
  return text;
}

Client::Options Within(absl::Duration timeout) {
  Client::Options options;
  options.timeout = timeout;
  return options;
}

// An address where nobody listens.
std::string Nowhere() { return FakeServer().address(); }

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
  EXPECT_EQ(Text(*output), "abcdef");
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

TEST(ClientTest, ACallEndsAtItsDeadline) {
  FakeServer server;
  server.before = [] {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return grpc::Status::OK;
  };
  Client client(server.address(), Within(absl::Milliseconds(200)));
  const absl::Time begin = absl::Now();
  const auto status = client.Transpose(Small(), {}).status();
  EXPECT_LT(absl::Now() - begin, absl::Milliseconds(900));
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status;
}

TEST(ClientTest, AServerThatIsAwayIsNamed) {
  const std::string nowhere = Nowhere();
  const auto waited = Client(nowhere, Within(absl::Milliseconds(200)))
                          .Transpose(Small(), {})
                          .status();
  EXPECT_EQ(waited.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(waited.message().find("cannot reach " + nowhere), 0u) << waited;

  Client::Options options;
  options.wait_for_ready = false;
  const absl::Time begin = absl::Now();
  const auto refused = Client(nowhere, options).Transpose(Small(), {}).status();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_EQ(refused.message().find("cannot reach " + nowhere), 0u) << refused;
  EXPECT_FALSE(Client(nowhere).Health().ok());
}

TEST(ClientTest, CallsGoAgainWhenTheServerIsUnavailable) {
  FakeServer server;
  // More than gRPC keeps for a second attempt unless told to.
  const Tensor large =
      MakeTensor<uint8_t>({1 << 20}, std::vector<uint8_t>(1 << 20));
  server.before = [&server] {
    return server.calls() < 3
               ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "going away")
               : grpc::Status::OK;
  };
  Client client(server.address());
  EXPECT_TRUE(client.RunPipeline({large}, {}).ok());
  EXPECT_EQ(server.calls(), 3);
}

TEST(ClientTest, CallsGoFourTimesAtMost) {
  FakeServer server;
  server.before = [] {
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "going away");
  };
  const auto status = Client(server.address()).Transpose(Small(), {}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(server.calls(), 4);
}

TEST(ClientTest, CallsWaitUntilTheServerIsReady) {
  FakeServer server;
  server.SetReady(false);
  Client client(server.address());
  EXPECT_FALSE(client.Health("readiness").value());
  EXPECT_TRUE(client.Health().value());
  EXPECT_EQ(client.Health("no such").status().code(), StatusCode::kNotFound);
  std::thread later([&server] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_EQ(server.calls(), 0);
    server.SetReady(true);
  });
  EXPECT_TRUE(client.Transpose(Small(), {}).ok());
  later.join();
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

TEST(ClientTest, UnixSocketsAreAddressesToo) {
  const std::string path =
      "unix:" + testing::TempDir() + "axis" + std::to_string(getpid());
  FakeServer server(path);
  EXPECT_TRUE(Client(path).Transpose(Small(), {}).ok());
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

TEST(ClientTest, TlsProvesBothSides) {
  const std::string stem =
      testing::TempDir() + "axis" + std::to_string(getpid());
  const std::string command =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 "
      "-nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 "
      "-keyout " +
      stem + ".key -out " + stem + ".pem 2> /dev/null";
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "no openssl";
  const auto read = [](const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(name).rdbuf();
    return text.str();
  };
  const std::string key = read(stem + ".key"), pem = read(stem + ".pem");
  grpc::SslServerCredentialsOptions demand(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  demand.pem_root_certs = pem;
  demand.pem_key_cert_pairs = {{key, pem}};
  FakeServer server("127.0.0.1:0", grpc::SslServerCredentials(demand));

  Client::Options options = Within(absl::Seconds(5));
  options.tls = grpc::SslCredentialsOptions{pem, key, pem};
  const auto output = Client(server.address(), options).Transpose(Small(), {});
  EXPECT_TRUE(output.ok()) << output.status();
  options.wait_for_ready = false;
  options.tls = grpc::SslCredentialsOptions{pem, "", ""};
  EXPECT_FALSE(Client(server.address(), options).Transpose(Small(), {}).ok());
  options.tls.reset();
  EXPECT_FALSE(Client(server.address(), options).Transpose(Small(), {}).ok());
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
