// Claims of StreamPipeline, in process over a real connection: any chain comes
// out right however it is cut up, outputs leave early, wrong streams are
// refused by field, and whatever happens nothing stays held.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "axis/v1/tensor_service.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "kernels/plan.h"
#include "server/elements/types.h"
#include "server/server.h"
#include "tests/server/random_chain.h"

namespace axis {
namespace {

using Request = pb::StreamPipelineRequest;
using Response = pb::StreamPipelineResponse;
using Rpc = grpc::ClientReaderWriter<Request, Response>;

struct Output {
  std::vector<int64_t> shape;
  std::string data;
  friend bool operator==(const Output&, const Output&) = default;
};

void AddOps(const std::vector<Op>& ops, Request& request) {
  for (const Op& op : ops) {
    pb::Op& m = *request.add_ops();
    if (const auto* t = std::get_if<Transpose>(&op)) {
      m.mutable_transpose()->mutable_order()->Assign(t->order.begin(),
                                                     t->order.end());
    } else if (const auto* c = std::get_if<ShuffleChannels>(&op)) {
      m.mutable_shuffle_channels()->set_axis(c->axis);
      m.mutable_shuffle_channels()->set_group(c->group);
    } else if (const auto* v = std::get_if<VariadicSplit>(&op)) {
      m.mutable_variadic_split()->set_axis(v->axis);
      m.mutable_variadic_split()->mutable_split_lengths()->Assign(
          v->split_lengths.begin(), v->split_lengths.end());
    } else if (const auto* s = std::get_if<Shuffle>(&op)) {
      m.mutable_shuffle()->set_axis(s->axis);
      m.mutable_shuffle()->set_group_size(s->group_size);
      m.mutable_shuffle()->set_direction(s->backward
                                             ? pb::Shuffle::DIRECTION_BACKWARD
                                             : pb::Shuffle::DIRECTION_FORWARD);
    }
  }
}

Request Header(pb::DataType type, std::vector<int64_t> shape,
               const std::vector<Op>& ops = {}) {
  Request request;
  request.mutable_input()->set_data_type(type);
  request.mutable_input()->mutable_shape()->Assign(shape.begin(), shape.end());
  AddOps(ops, request);
  return request;
}

Request Piece(std::string data) {
  Request request;
  request.mutable_input()->set_data(std::move(data));
  return request;
}

// The elements `items` of `in`, packed.
std::string Gather(const std::string& in, const std::vector<int64_t>& items,
                   int64_t bits) {
  const int64_t n = static_cast<int64_t>(items.size());
  std::string out(static_cast<size_t>(PackedBytes(n, bits)), '\0');
  const auto* src = reinterpret_cast<const std::byte*>(in.data());
  auto* dst = reinterpret_cast<std::byte*>(out.data());
  for (int64_t i = 0; i < n; ++i) {
    const int64_t item = items[static_cast<size_t>(i)];
    if (bits % 8 == 0) {
      std::memcpy(dst + i * bits / 8, src + item * bits / 8,
                  static_cast<size_t>(bits / 8));
    } else {
      testing::NarrowElement(bits, i).Put(
          dst, testing::NarrowElement(bits, item).Get(src));
    }
  }
  return out;
}

// Reads all outputs; says what is wrong with how they come.
std::vector<Output> ReadAll(Rpc& rpc) {
  std::vector<Output> outputs;
  Response response;
  while (rpc.Read(&response)) {
    EXPECT_LE(response.ByteSizeLong(), size_t{1} << 20);
    const pb::Tensor& piece = response.output();
    if (piece.data_type() != 0) {
      outputs.push_back({{piece.shape().begin(), piece.shape().end()}, ""});
    } else {
      EXPECT_EQ(piece.shape_size(), 0);
      EXPECT_FALSE(outputs.empty());
    }
    if (!outputs.empty()) outputs.back().data += piece.data();
  }
  return outputs;
}

std::string FieldOf(const grpc::Status& status) {
  google::rpc::Status rich;
  google::rpc::BadRequest bad;
  if (!rich.ParseFromString(status.error_details()) ||
      rich.details_size() == 0 || !rich.details(0).UnpackTo(&bad))
    return "";
  return bad.field_violations(0).field();
}

class StreamPipeline : public ::testing::Test {
 protected:
  static constexpr int64_t kMib = 1 << 20;

  void SetUp() override {
    Options options;
    options.listen = {"127.0.0.1:0"};
    options.metrics = "";
    options.drain_timeout = absl::Milliseconds(200);
    options.max_message_bytes = 32 * kMib;
    options.max_inflight_bytes = 64 * kMib;
    options.threads = 2;
    auto server = Server::Start(options, log_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    stub_ = pb::TensorService::NewStub(
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_->ports()[0]),
                            grpc::InsecureChannelCredentials()));
  }
  // Would hang if a stream did not end.
  void TearDown() override { server_->Shutdown(); }

  // Sends `requests` and reads meanwhile.
  grpc::Status Call(const std::vector<Request>& requests,
                    std::vector<Output>* outputs = nullptr) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(1)));
    const auto rpc = stub_->StreamPipeline(&context);
    std::thread writer([&] {
      for (const Request& request : requests)
        if (!rpc->Write(request)) break;
      rpc->WritesDone();
    });
    std::vector<Output> got = ReadAll(*rpc);
    writer.join();
    if (outputs != nullptr) *outputs = std::move(got);
    return rpc->Finish();
  }

  // Whether the server has room for a stream that needs most of its memory.
  bool IsEmpty() {
    const int64_t n = 6 << 10;  // 36 MiB
    for (int i = 0; i < 100; ++i) {
      const auto status =
          Call({Header(pb::DATA_TYPE_U8, {n, n}, {Transpose{}})});
      // It is refused for being short, but only once it has been let in.
      if (FieldOf(status) == "input.data") return true;
      EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
      absl::SleepFor(absl::Milliseconds(50));
    }
    return false;
  }

  // One random chain on one random tensor, cut up at random.
  void CheckRandomStream(testing::Random& random) {
    const pb::DataType type = random.Of(std::vector<pb::DataType>{
        pb::DATA_TYPE_U8, pb::DATA_TYPE_I16, pb::DATA_TYPE_F32,
        pb::DATA_TYPE_F64, pb::DATA_TYPE_C128, pb::DATA_TYPE_U4,
        pb::DATA_TYPE_U3, pb::DATA_TYPE_U1, pb::DATA_TYPE_U6});
    const int64_t bits = BitsOf(type);
    const Shape shape = testing::RandomShape(random, 20000);
    const testing::Chain chain = testing::RandomChain(random, shape);
    const size_t n = reference::Iota({shape.begin(), shape.end()}).items.size();
    std::string data(
        static_cast<size_t>(PackedBytes(static_cast<int64_t>(n), bits)), '\0');
    random.Fill(reinterpret_cast<std::byte*>(data.data()), data.size());
    std::vector<Output> want;
    for (const auto& output : chain.outputs)
      want.push_back({output.shape, Gather(data, output.items, bits)});

    std::vector<Request> requests = {
        Header(type, {shape.begin(), shape.end()}, chain.ops)};
    const int64_t most = random.Of(std::vector<int64_t>{40, 5000, 1 << 20});
    for (size_t i = 0; i < data.size();) {
      const size_t size = static_cast<size_t>(random.In(0, most));
      if (i == 0 && random.OneIn(2)) {
        requests[0].mutable_input()->set_data(data.substr(0, size));
      } else {
        requests.push_back(Piece(data.substr(i, size)));
      }
      i += std::min(size, data.size() - i);
    }
    std::vector<Output> got;
    const grpc::Status status = Call(requests, &got);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_EQ(got, want) << requests[0].ShortDebugString().substr(0, 2000);
  }

  const Log log_{Log::Format::kText};
  std::unique_ptr<Server> server_;
  std::unique_ptr<pb::TensorService::Stub> stub_;
};

TEST_F(StreamPipeline, AnyChainIsRightHoweverItIsCutUp) {
  std::vector<std::thread> clients;
  for (uint64_t seed = 0; seed < 4; ++seed)
    clients.emplace_back([this, seed] {
      testing::Random random(seed);
      for (int i = 0; i < 150 && !HasFatalFailure(); ++i)
        CheckRandomStream(random);
    });
  for (std::thread& client : clients) client.join();
  EXPECT_TRUE(IsEmpty());
}

TEST_F(StreamPipeline, LargeTensorsTakeAllTheirTurns) {
  // 48 MiB through windows that are filled, sent and filled again.
  const std::vector<int64_t> shape = {3, 2048, 2048, 4};
  const int64_t n = shape[0] * shape[1] * shape[2] * shape[3];
  std::string data(static_cast<size_t>(n), '\0');
  testing::Random(7).Fill(reinterpret_cast<std::byte*>(data.data()),
                          data.size());
  std::string nchw(data.size(), '\0');
  for (int64_t i = 0; i < n; ++i) {
    const int64_t image = i / (n / 3), pixel = i % (n / 3) / 4;
    nchw[static_cast<size_t>((image * 4 + i % 4) * (2048 * 2048) + pixel)] =
        data[static_cast<size_t>(i)];
  }
  for (const int64_t size : {kMib, 5 * kMib + 3, 17 * kMib}) {
    std::vector<Request> requests = {
        Header(pb::DATA_TYPE_U8, shape, {Transpose{{0, 3, 1, 2}}})};
    for (int64_t i = 0; i < n; i += size)
      requests.push_back(Piece(
          data.substr(static_cast<size_t>(i), static_cast<size_t>(size))));
    std::vector<Output> got;
    ASSERT_TRUE(Call(requests, &got).ok());
    ASSERT_EQ(got.size(), 1u);
    EXPECT_TRUE(got[0].data == nchw) << "pieces of " << size;
  }
  EXPECT_TRUE(IsEmpty());
}

TEST_F(StreamPipeline, WhatIsCompleteLeavesAtOnce) {
  for (const std::vector<Op>& ops :
       {std::vector<Op>{}, std::vector<Op>{VariadicSplit{0, {1, 1}}},
        std::vector<Op>{Transpose{{0, 2, 1}}}}) {
    grpc::ClientContext context;
    const auto rpc = stub_->StreamPipeline(&context);
    Response response;
    Request request = Header(pb::DATA_TYPE_U8, {2, 2, 3}, ops);
    request.mutable_input()->set_data("abcdef");
    ASSERT_TRUE(rpc->Write(request));
    ASSERT_TRUE(rpc->Read(&response));  // the second half is not there yet
    EXPECT_EQ(response.output().data(),
              ops.size() == 1 && ops[0].index() == 0 ? "adbecf" : "abcdef");
    ASSERT_TRUE(rpc->Write(Piece("ghijkl")));
    ASSERT_TRUE(rpc->Read(&response));
    EXPECT_EQ(response.output().data_type() != 0,
              ops.size() == 1 && ops[0].index() == 2);
    rpc->WritesDone();
    EXPECT_TRUE(rpc->Finish().ok());
  }
}

TEST_F(StreamPipeline, WrongStreamsAreRefusedByField) {
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

TEST_F(StreamPipeline, LimitsHoldForMessagesAndForWhatIsHeld) {
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

TEST_F(StreamPipeline, AClientThatLeavesFreesWhatItHeld) {
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

TEST_F(StreamPipeline, AClientThatDoesNotReadIsNotReadFrom) {
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
  const std::vector<Output> got = ReadAll(*rpc);
  writer.join();
  EXPECT_EQ(got[0].data.size(), kPieces * kMib);
  EXPECT_TRUE(rpc->Finish().ok());
  EXPECT_TRUE(IsEmpty());
}

}  // namespace
}  // namespace axis
