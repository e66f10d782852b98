// Claims of StreamPipeline about what it bounds: wrong streams are refused by
// field, limits hold, and whatever clients do nothing stays held.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <thread>

#include "server/stream/stream.h"
#include "tests/server/stream/stream_fixture.h"

namespace axis {
namespace {

using testing::FieldOf;
using testing::Header;
using testing::kMib;
using testing::Output;
using testing::Piece;
using testing::Request;

class StreamLimits : public testing::StreamTest {};

TEST_F(StreamLimits, WrongStreamsAreRefusedByField) {
  const Request header = Header(pb::DATA_TYPE_U8, {4}, {Transpose{}});
  const auto with = [](Request request, std::function<void(Request&)> change) {
    change(request);
    return request;
  };
  const struct {
    std::vector<Request> requests;
    std::string field;
  } kCases[] = {
      {{}, "input"},
      {{Request()}, "input"},
      {{header}, "input.data"},
      {{header, Piece("abc")}, "input.data"},
      {{header, Piece("abc"), Piece("de")}, "input.data"},
      {{header, Piece("abcd"), Piece("e")}, "input.data"},
      {{header, header}, "input.data_type"},
      {{header, with({}, [](Request& r) { r.mutable_input()->add_shape(4); })},
       "input.shape"},
      {{header, with({},
                     [](Request& r) {
                       r.mutable_input()->set_layout(pb::LAYOUT_NXC);
                     })},
       "input.layout"},
      {{header, with({}, [](Request& r) { r.add_ops(); })}, "ops"},
      {{header, with({},
                     [](Request& r) {
                       r.mutable_input()->mutable_values()->add_uints(1);
                     })},
       "input.values"},
      {{with(header,
             [](Request& r) {
               r.mutable_input()->mutable_values()->add_uints(1);
             })},
       "input.values"},
      {{Header(pb::DATA_TYPE_STRING, {4})}, "input.data_type"},
      {{Header(pb::DATA_TYPE_UNSPECIFIED, {4})}, "input.data_type"},
      {{Header(pb::DATA_TYPE_U8, {-1})}, "input.shape[0]"},
      {{Header(pb::DATA_TYPE_U8, {int64_t{1} << 60})}, "input.shape"},
      {{Header(pb::DATA_TYPE_U8, {4}, {Transpose{{1}}})},
       "ops[0].transpose.order[0]"},
      {{with(header, [](Request& r) { r.add_ops(); })}, "ops[1]"},
  };
  for (const auto& c : kCases) {
    const grpc::Status status = Call(c.requests);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(FieldOf(status), c.field) << status.error_message();
  }
  EXPECT_TRUE(IsEmpty());
}

TEST_F(StreamLimits, TooMuchIsRefusedBeforeTheStreamEnds) {
  for (const char* first : {"abc", "abcd"}) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(10)));
    const auto rpc = stub_->StreamPipeline(&context);
    rpc->Write(Header(pb::DATA_TYPE_U8, {4}, {Transpose{}}));
    rpc->Write(Piece(first));
    rpc->Write(Piece("de"));
    // No WritesDone: at the end the sum would be refused, too.
    testing::ReadAll(*rpc);
    const grpc::Status status = rpc->Finish();
    EXPECT_EQ(FieldOf(status), "input.data") << status.error_message();
  }
  EXPECT_TRUE(IsEmpty());
}

TEST_F(StreamLimits, LimitsHoldForMessagesAndForWhatIsHeld) {
  std::vector<Output> got;
  // More than one message may hold, in messages that may.
  const std::string piece(static_cast<size_t>(30 * kMib), 'x');
  EXPECT_TRUE(Call({Header(pb::DATA_TYPE_U8, {90 * kMib}), Piece(piece),
                    Piece(piece), Piece(piece)},
                   &got)
                  .ok());
  EXPECT_EQ(got[0].data.size(), 3 * piece.size());
  grpc::Status status = Call({Header(pb::DATA_TYPE_U8, {90 * kMib}),
                              Piece(std::string(33 * kMib, 'x'))});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(status.error_message().find("--max_message_bytes"),
            std::string::npos);
  // What must be held whole, and is too large, is refused before it is sent.
  status = Call({Header(pb::DATA_TYPE_U8, {1 << 20, 1 << 20}, {Transpose{}})});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(status.error_message().find("--max_inflight_bytes"),
            std::string::npos);
  EXPECT_TRUE(IsEmpty());
}

// Transposes `shape` to NCX in pieces of 1 MiB. What comes out is fetched at
// once, or when there is no room any more; it is let go of at once, but for the
// last `unsent` messages. Returns the most pooled memory that there ever was.
int64_t MostPooled(std::vector<int64_t> shape, bool at_once, size_t unsent) {
  Admission admission(64 * kMib);
  Admission::Lease lease(admission);
  const auto pool = std::make_shared<BufferPool>(64 * kMib);
  CallReport report;
  Stream stream({2 * kMib, lease, *pool, report, [] { return false; }},
                admission);
  std::deque<grpc::ByteBuffer> sent;
  int64_t most = 0;
  const auto fetch = [&] {
    for (auto out = stream.NextMessage(); out; out = stream.NextMessage()) {
      sent.push_back(*std::move(out));
      if (sent.size() > unsent) sent.pop_front();
    }
  };
  const auto send = [&](const Request& request) {
    const std::string bytes = request.SerializeAsString();
    const grpc::Slice slice(bytes);
    grpc::ByteBuffer message(&slice, 1);
    EXPECT_TRUE(stream.Receive(message).ok());
    while (stream.Work().value()) {
      const BufferPool::Stats stats = pool->GetStats();
      most = std::max(most, stats.live_bytes + stats.idle_bytes);
      if (at_once) fetch();
    }
    if (stream.backlog() >= kBacklogBytes) fetch();
  };
  send(Header(pb::DATA_TYPE_U8, shape, {Transpose{{0, 2, 1}}}));
  for (int64_t left = shape[0] * shape[1] * shape[2]; left > 0; left -= kMib)
    send(Piece(std::string(static_cast<size_t>(std::min(left, kMib)), 'x')));
  EXPECT_TRUE(stream.HalfClose().ok());
  for (int i = 0; i < 10; ++i) {
    fetch();
    EXPECT_TRUE(stream.Work().ok());
  }
  EXPECT_TRUE(stream.IsDone());
  return most;
}

TEST(StreamMemory, WhatWasSentIsWrittenAgain) {
  // Segments are of 3 images, and take 4 MiB of the pool each.
  constexpr int64_t kImage = 1'100'000, kBlock = 4 * kMib;
  const std::vector<int64_t> shape = {60, kImage / 4, 4};
  EXPECT_LE(MostPooled(shape, true, 0), 2 * kBlock);
  EXPECT_LE(MostPooled(shape, true, 4), 4 * kBlock);
  EXPECT_LE(MostPooled(shape, false, 0), 2 * kBlock);
  EXPECT_GE(MostPooled(shape, true, 1000), 60 / 3 * kBlock);
}

TEST_F(StreamLimits, AClientThatLeavesFreesWhatItHeld) {
  for (const bool deadline : {false, true}) {
    grpc::ClientContext context;
    if (deadline)
      context.set_deadline(
          absl::ToChronoTime(absl::Now() + absl::Milliseconds(200)));
    const auto rpc = stub_->StreamPipeline(&context);
    ASSERT_TRUE(rpc->Write(
        Header(pb::DATA_TYPE_U8, {5 << 10, 6 << 10}, {Transpose{}})));
    for (int i = 0; i < 10; ++i)
      ASSERT_TRUE(rpc->Write(Piece(std::string(kMib, 'x'))));
    if (!deadline) context.TryCancel();
    EXPECT_EQ(rpc->Finish().error_code(),
              deadline ? grpc::StatusCode::DEADLINE_EXCEEDED
                       : grpc::StatusCode::CANCELLED);
    EXPECT_TRUE(IsEmpty());
  }
}

TEST_F(StreamLimits, AClientThatDoesNotReadIsNotReadFrom) {
  constexpr int kPieces = 256;
  grpc::ClientContext context;
  const auto rpc = stub_->StreamPipeline(&context);
  std::atomic<int> written = 0;
  std::thread writer([&] {
    rpc->Write(Header(pb::DATA_TYPE_U8, {kPieces * kMib}));
    for (int i = 0; i < kPieces; ++i) {
      if (!rpc->Write(Piece(std::string(kMib, 'x')))) break;
      ++written;
    }
    rpc->WritesDone();
  });
  absl::SleepFor(absl::Seconds(1));
  EXPECT_LT(written, 48);
  const std::vector<Output> got = testing::ReadAll(*rpc);
  writer.join();
  EXPECT_EQ(got[0].data.size(), kPieces * kMib);
  EXPECT_TRUE(rpc->Finish().ok());
  EXPECT_TRUE(IsEmpty());
}

}  // namespace
}  // namespace axis
