// Claims of the client about calls that a server turned away: they go again,
// whole, as often as said and no further than said.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/client.h"
#include "tests/client/fake_server.h"
#include "tests/client/tensors.h"

namespace axis {
namespace {

using absl::StatusCode;

const grpc::Status kGoingAway(grpc::StatusCode::UNAVAILABLE, "going away");
const grpc::Status kGone(grpc::StatusCode::CANCELLED, "gone");

Tensor Large() {
  // More than gRPC keeps for a second attempt unless told to.
  return MakeTensor<uint8_t>({1 << 20}, std::vector<uint8_t>(1 << 20, 7));
}

// Gives `pieces` pieces of `size` bytes.
Client::Source Pieces(int pieces, size_t size) {
  return [=, given = 0]() mutable -> absl::StatusOr<Bytes> {
    return given++ < pieces ? Bytes::Own(std::string(size, 'x')) : Bytes();
  };
}

// Streams `pieces` pieces of `size` bytes as one tensor, without ops. Returns
// how many of the bytes came back.
absl::StatusOr<int64_t> Echo(Client& client, int pieces, size_t size) {
  const int64_t bytes = pieces * static_cast<int64_t>(size);
  int64_t taken = 0;
  const auto sink = [&taken](const Tensor& piece) {
    taken += static_cast<int64_t>(piece.data.size());
    return absl::OkStatus();
  };
  const absl::Status status = client.StreamPipeline(
      MakeTensor<uint8_t>({bytes}, {}), {}, sink, Pieces(pieces, size));
  if (!status.ok()) return status;
  return taken;
}

TEST(ClientRetryTest, CallsGoAgainWhenTheServerIsUnavailable) {
  FakeServer server;
  server.before = [&server] {
    return server.calls() == 1   ? kGoingAway
           : server.calls() == 2 ? kGone
                                 : grpc::Status::OK;
  };
  Client client(server.address());
  const auto outputs = client.RunPipeline({Large()}, {});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(Text(outputs->front().data), std::string(1 << 20, 7));
  EXPECT_EQ(server.calls(), 3);
}

TEST(ClientRetryTest, CallsAndStreamsGoFourTimesAtMost) {
  FakeServer server;
  server.before = [] { return kGoingAway; };
  Client client(server.address());
  EXPECT_EQ(client.Transpose(Small(), {}).status().code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(server.calls(), 4);
  EXPECT_EQ(Echo(client, 3, 10).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(server.calls(), 8);
}

TEST(ClientRetryTest, WhatIsWrongDoesNotGoAgain) {
  FakeServer server;
  server.before = [] { return Refusal("op", "is wrong"); };
  Client client(server.address());
  EXPECT_FALSE(client.Transpose(Small(), {}).ok());
  EXPECT_FALSE(Echo(client, 3, 10).ok());
  EXPECT_EQ(server.calls(), 2);
}

// Whatever was on its way when the server turned the stream away. Left to gRPC
// 1.51, half of the runs lost a message or waited forever.
TEST(ClientRetryTest, AStreamThatGoesAgainIsSentToItsEnd) {
  FakeServer server;
  server.before = [&server] {
    return server.calls() % 2 == 1 ? kGoingAway : grpc::Status::OK;
  };
  Client::Options options;
  options.timeout = absl::Seconds(20);
  Client client(server.address(), options);
  for (int i = 0; i < 10; ++i) {
    const auto taken = Echo(client, 2000, 1);
    ASSERT_TRUE(taken.ok()) << taken.status();
    EXPECT_EQ(*taken, 2000);
    EXPECT_EQ(server.calls(), 2 * i + 2);
  }
}

TEST(ClientRetryTest, AStreamOfATensorInMemoryGoesAgain) {
  FakeServer server;
  server.before = [&server] {
    return server.calls() < 3 ? kGoingAway : grpc::Status::OK;
  };
  Client::Options options;
  options.stream_threshold_bytes = 0;
  const auto outputs =
      Client(server.address(), options).RunPipeline({Large()}, {});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(Text(outputs->front().data), std::string(1 << 20, 7));
  EXPECT_EQ(server.calls(), 3);
}

TEST(ClientRetryTest, AStreamWhoseAnswerHasBegunDoesNotGoAgain) {
  FakeServer server;
  server.stream = [](FakeServer::Stream* call) {
    axis::v1::StreamPipelineResponse header;
    header.mutable_output()->set_data_type(pb::DATA_TYPE_U8);
    header.mutable_output()->add_shape(100);
    call->Write(header);
    return kGoingAway;
  };
  Client client(server.address());
  EXPECT_EQ(Echo(client, 1, 100).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(server.calls(), 1);
}

TEST(ClientRetryTest, AStreamGoesAgainAsLongAsItsSourceIsKept) {
  constexpr size_t kMiB = size_t{1} << 20;
  FakeServer server;
  server.stream = [&server](FakeServer::Stream* call) {
    pb::StreamPipelineRequest in;
    while (call->Read(&in)) {
    }
    return kGoingAway;
  };
  Client client(server.address());
  EXPECT_EQ(Echo(client, 2, kMiB).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(server.calls(), 4);
  EXPECT_EQ(Echo(client, 5, kMiB).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(server.calls(), 5);
}

TEST(ClientRetryTest, AnErrorOfTheSourceIsNotAServersAndDoesNotGoAgain) {
  FakeServer server;
  const absl::Status status = Client(server.address())
                                  .StreamPipeline(
                                      MakeTensor<uint8_t>({10}, {}), {},
                                      [](Tensor) { return absl::OkStatus(); },
                                      []() -> absl::StatusOr<Bytes> {
                                        return absl::UnavailableError("disk");
                                      });
  EXPECT_EQ(status, absl::UnavailableError("disk"));
  EXPECT_LE(server.calls(), 1);
}

}  // namespace
}  // namespace axis
