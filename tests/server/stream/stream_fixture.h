// What tests of StreamPipeline share: its messages, and a server in this
// process that they are sent to over a real connection.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "axis/v1/tensor_service.grpc.pb.h"
#include "kernels/ops.h"
#include "server/elements/types.h"
#include "tests/server/server_fixture.h"

namespace axis::testing {

using Request = pb::StreamPipelineRequest;
using Response = pb::StreamPipelineResponse;
using Rpc = grpc::ClientReaderWriter<Request, Response>;

constexpr int64_t kMib = 1 << 20;

struct Output {
  std::vector<int64_t> shape;
  std::string data;
  friend bool operator==(const Output&, const Output&) = default;
};

inline void AddOps(const std::vector<Op>& ops, Request& request) {
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

inline Request Header(pb::DataType type, std::vector<int64_t> shape,
                      const std::vector<Op>& ops = {}) {
  Request request;
  request.mutable_input()->set_data_type(type);
  request.mutable_input()->mutable_shape()->Assign(shape.begin(), shape.end());
  AddOps(ops, request);
  return request;
}

inline Request Piece(std::string data) {
  Request request;
  request.mutable_input()->set_data(std::move(data));
  return request;
}

// Reads all outputs; says what is wrong with how they come.
inline std::vector<Output> ReadAll(Rpc& rpc) {
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

class StreamTest : public ServerTest {
 protected:
  void SetUp() override {
    Options options;
    options.max_message_bytes = 32 * kMib;
    options.max_inflight_bytes = 64 * kMib;
    options.threads = 2;
    StartWith(options);
  }

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
};

}  // namespace axis::testing
