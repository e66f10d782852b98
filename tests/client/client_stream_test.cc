// Claims of the client's streams: whole outputs or an error, read while they
// are written, in little memory, and ended at once by any of the three sides.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "client/client.h"
#include "tests/client/fake_server.h"

namespace axis {
namespace {

using absl::StatusCode;
using Response = pb::StreamPipelineResponse;

constexpr size_t kMiB = size_t{1} << 20;

Tensor Numbers(size_t bytes) {
  std::vector<uint32_t> numbers(bytes / 4);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<uint32_t>(i);
  const std::vector<int64_t> shape = {static_cast<int64_t>(numbers.size())};
  return MakeTensor<uint32_t>(shape, std::move(numbers));
}

// A source of `count` pieces of one MiB, or without end; counts them.
Client::Source Zeros(std::atomic<int>& given, int count = INT_MAX) {
  return [&given, count]() -> absl::StatusOr<Bytes> {
    if (given == count) return Bytes();
    ++given;
    return Bytes::Own(std::string(kMiB, '\0'));
  };
}

// A U8 tensor of `mib` MiB, or of more than anybody sends, but for its data.
Tensor Header(int64_t mib = int64_t{1} << 40) {
  return MakeTensor<uint8_t>({mib, static_cast<int64_t>(kMiB)}, {});
}

absl::Status Ignore(const Tensor&) { return absl::OkStatus(); }

Response Piece(const std::string& data, std::vector<int64_t> shape = {}) {
  Response response;
  response.mutable_output()->set_data(data);
  for (const int64_t extent : shape)
    response.mutable_output()->add_shape(extent);
  if (!shape.empty())
    response.mutable_output()->set_data_type(pb::DATA_TYPE_U8);
  return response;
}

// A stream that answers `responses` to whatever it reads.
auto Answers(std::vector<Response> responses) {
  return [responses](FakeServer::Stream* call) {
    pb::StreamPipelineRequest in;
    while (call->Read(&in)) {
    }
    for (const Response& response : responses) call->Write(response);
    return grpc::Status::OK;
  };
}

Client::Options Above(int64_t bytes) {
  Client::Options options;
  options.stream_threshold_bytes = bytes;
  return options;
}

TEST(ClientStreamTest, LargeTensorsAreStreamedByThemselves) {
  FakeServer server;
  Client client(server.address(), Above(999));
  const Tensor large = Numbers(64 * kMiB);
  pb::Transpose op;
  op.add_order(0);
  const auto output = client.Transpose(large, op);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->shape, large.shape);
  EXPECT_TRUE(*Elements<uint32_t>(*output) == *Elements<uint32_t>(large));
  EXPECT_EQ(server.last(),
            "StreamPipeline input { data_type: DATA_TYPE_U32 shape: 16777216 "
            "data: \"\" } ops { transpose { order: 0 } }");

  pb::VariadicSplit split;
  split.add_split_lengths(-1);
  EXPECT_EQ(client.VariadicSplit(Numbers(1000), split)->size(), 1u);
  EXPECT_EQ(server.last().find("StreamPipeline"), 0u) << server.last();
  EXPECT_TRUE(client.RunPipeline({Numbers(1000)}, {}).ok());
  EXPECT_EQ(server.last().find("StreamPipeline"), 0u) << server.last();
  EXPECT_TRUE(client.ShuffleChannels(Numbers(1000), {}).ok());
  EXPECT_NE(server.last().find("shuffle_channels"), std::string::npos);
  EXPECT_TRUE(client.Shuffle(Numbers(1000), {}).ok());
  EXPECT_NE(server.last().find("shuffle {"), std::string::npos);
}

TEST(ClientStreamTest, OtherTensorsAreNot) {
  FakeServer server;
  Client client(server.address(), Above(999));
  EXPECT_TRUE(client.Transpose(Numbers(996), {}).ok());
  EXPECT_EQ(server.last().find("Transpose"), 0u);
  EXPECT_TRUE(client.RunPipeline({Numbers(1000), Numbers(1000)}, {}).ok());
  EXPECT_EQ(server.last().find("RunPipeline"), 0u);
  Tensor text = Numbers(1000);
  text.data_type = pb::DATA_TYPE_STRING;
  EXPECT_TRUE(client.Transpose(text, {}).ok());
  EXPECT_EQ(server.last().find("Transpose"), 0u);
}

TEST(ClientStreamTest, PiecesOfAnySizeBecomeMessagesOfAtMostAMiB) {
  FakeServer server;
  std::atomic<size_t> largest = 0, received = 0;
  server.stream = [&](FakeServer::Stream* call) {
    pb::StreamPipelineRequest in;
    while (call->Read(&in)) {
      largest = std::max<size_t>(largest, in.ByteSizeLong());
      received += in.input().data().size();
      EXPECT_EQ(in.input().data_type(), pb::DATA_TYPE_UNSPECIFIED);
    }
    call->Write(Piece("abc", {3}));
    return grpc::Status::OK;
  };
  Tensor input = Header(9);
  input.data = Bytes::Own(std::string(5 * kMiB, 'x'));
  size_t next = 1, given = 0;
  std::string got;
  const absl::Status status =
      Client(server.address())
          .StreamPipeline(
              input, {},
              [&](const Tensor& piece) {
                EXPECT_EQ(piece.shape, std::vector<int64_t>{3});
                got.resize(piece.data.size());
                piece.data.CopyTo(got.data());
                return absl::OkStatus();
              },
              [&]() -> absl::StatusOr<Bytes> {
                const size_t size = std::min(next, 4 * kMiB - given);
                given += size;
                next *= 3;
                return Bytes::Own(std::string(size, 'y'));
              });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(got, "abc");
  EXPECT_EQ(received, 9 * kMiB);
  EXPECT_LE(largest, kMiB);
  EXPECT_GT(largest, kMiB - 100);
}

TEST(ClientStreamTest, OutputsComeInOrder) {
  FakeServer server;
  server.stream = Answers({Piece("", {2, 2}), Piece("ab"), Piece("cd"),
                           Piece("", {0}), Piece("xyz", {4}), Piece("!")});
  Client client(server.address(), Above(0));
  const auto outputs = client.RunPipeline({Numbers(100)}, {});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), 3u);
  EXPECT_EQ((*outputs)[0].shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(*Elements<uint8_t>((*outputs)[0]),
            (std::vector<uint8_t>{'a', 'b', 'c', 'd'}));
  EXPECT_EQ((*outputs)[1].data.size(), 0u);
  EXPECT_EQ(*Elements<uint8_t>((*outputs)[2]),
            (std::vector<uint8_t>{'x', 'y', 'z', '!'}));
}

TEST(ClientStreamTest, OutputsThatAreNotWholeAreInternal) {
  const std::pair<std::vector<Response>, std::string> wrong[] = {
      {{}, "one output was due, 0 came"},
      {{Piece("ab", {2}), Piece("cd", {2})}, "one output was due, 2 came"},
      {{Piece("ab")}, "begins without the header"},
      {{Piece("ab", {3})}, "ends 1 bytes short"},
      {{Piece("ab", {3}), Piece("cd", {2})}, "ends 1 bytes short"},
      {{Piece("abcd", {3})}, "passes its end"},
      {{Piece("ab", {3}), Piece("cd")}, "passes its end"},
      {{Piece("", {-3})}, "must fit 63 bits"},
      {{Piece("", {INT64_MAX, 2})}, "must fit 63 bits"},
  };
  for (const auto& [responses, why] : wrong) {
    FakeServer server;
    server.stream = Answers(responses);
    const auto status =
        Client(server.address(), Above(0)).Transpose(Numbers(100), {}).status();
    EXPECT_EQ(status.code(), StatusCode::kInternal) << why;
    EXPECT_NE(status.message().find(why), std::string::npos) << status;
  }
}

TEST(ClientStreamTest, AnErrorOfTheServerEndsItMidway) {
  FakeServer server;
  server.stream = [](FakeServer::Stream* call) {
    pb::StreamPipelineRequest in;
    for (int i = 0; i < 3; ++i) call->Read(&in);
    call->Write(Piece("ab", {100}));
    return Refusal("input.data", "must not be dull");
  };
  std::atomic<int> given = 0;
  const absl::Status status =
      Client(server.address())
          .StreamPipeline(Header(), {}, Ignore, Zeros(given));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status;
  EXPECT_EQ(Client::FieldOf(status), "input.data");
  EXPECT_LT(given, 200);
}

TEST(ClientStreamTest, AnErrorOfTheSourceEndsIt) {
  FakeServer server;
  std::atomic<int> given = 0;
  const auto source = [&]() -> absl::StatusOr<Bytes> {
    if (++given == 10) return absl::DataLossError("a bad disk");
    return Bytes::Own(std::string(kMiB, '\0'));
  };
  const absl::Status status =
      Client(server.address()).StreamPipeline(Header(), {}, Ignore, source);
  EXPECT_EQ(status, absl::DataLossError("a bad disk"));
  EXPECT_EQ(given, 10);
}

TEST(ClientStreamTest, AnErrorOfTheSinkEndsIt) {
  FakeServer server;
  std::atomic<int> given = 0;
  int taken = 0;
  const auto sink = [&](const Tensor&) {
    return ++taken < 5 ? absl::OkStatus() : absl::AbortedError("enough");
  };
  const absl::Status status =
      Client(server.address()).StreamPipeline(Header(), {}, sink, Zeros(given));
  EXPECT_EQ(status, absl::AbortedError("enough"));
  EXPECT_EQ(taken, 5);
}

TEST(ClientStreamTest, AServerThatDoesNotReadIsNotSentMuchAndLeftInTime) {
  FakeServer server;
  server.stream = [](FakeServer::Stream*) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    return grpc::Status::OK;
  };
  Client::Options options;
  options.timeout = absl::Milliseconds(500);
  std::atomic<int> given = 0;
  const absl::Time begin = absl::Now();
  const absl::Status status =
      Client(server.address(), options)
          .StreamPipeline(Header(), {}, Ignore, Zeros(given));
  EXPECT_LT(absl::Now() - begin, absl::Milliseconds(2200));
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status;
  EXPECT_LT(given, 50);
}

TEST(ClientStreamTest, OutputsAreReadWhileTheInputIsWritten) {
  FakeServer server;  // echoes, and reads no more than it has echoed
  std::atomic<int> given = 0;
  size_t taken = 0;
  const auto sink = [&](const Tensor& piece) {
    taken += piece.data.size();
    return absl::OkStatus();
  };
  const absl::Status status =
      Client(server.address())
          .StreamPipeline(Header(256), {}, sink, Zeros(given, 256));
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(taken, 256 * kMiB);
}

TEST(ClientStreamTest, AServerThatIsAwayIsNamed) {
  const std::string nowhere = FakeServer().address();
  Client::Options options;
  options.wait_for_ready = false;
  std::atomic<int> given = 0;
  const absl::Status status =
      Client(nowhere, options)
          .StreamPipeline(Header(), {}, Ignore, Zeros(given));
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
  EXPECT_EQ(status.message().find("cannot reach " + nowhere), 0u) << status;
}

}  // namespace
}  // namespace axis
