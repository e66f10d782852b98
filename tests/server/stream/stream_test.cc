// Claims of StreamPipeline, in process over a real connection: any chain comes
// out right however it is cut up, large tensors too, and outputs leave early.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "kernels/plan.h"
#include "server/elements/types.h"
#include "tests/random_chain.h"
#include "tests/server/stream/stream_fixture.h"

namespace axis {
namespace {

using testing::Header;
using testing::kMib;
using testing::Output;
using testing::Piece;
using testing::Request;
using testing::Response;

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

class StreamPipeline : public testing::StreamTest {
 protected:
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
  // Up to 48 MiB through windows that are filled, sent and filled again;
  // through segments, of as many images as make 4 MiB or of one; and of one
  // output and the beginning of the next.
  const struct {
    int64_t images, pixels, split;
  } kCases[] = {{3, 2048 * 2048, 0},
                {27, 480 * 397, 0},
                {4, 1200 * 1200, 0},
                {27, 480 * 397, 15}};
  for (const auto& c : kCases) {
    const int64_t image = c.pixels * 4, n = c.images * image;
    std::string data(static_cast<size_t>(n), '\0');
    testing::Random(7).Fill(reinterpret_cast<std::byte*>(data.data()),
                            data.size());
    std::string nchw(data.size(), '\0');
    for (int64_t i = 0; i < n; ++i)
      nchw[static_cast<size_t>(i / image * image + i % 4 * c.pixels +
                               i % image / 4)] = data[static_cast<size_t>(i)];
    std::vector<Op> ops = {Transpose{{0, 2, 1}}};
    if (c.split > 0) ops.push_back(VariadicSplit{0, {c.split, -1}});
    for (const int64_t size : {kMib, 5 * kMib + 3, 17 * kMib}) {
      std::vector<Request> requests = {
          Header(pb::DATA_TYPE_U8, {c.images, c.pixels, 4}, ops)};
      for (int64_t i = 0; i < n; i += size)
        requests.push_back(Piece(
            data.substr(static_cast<size_t>(i), static_cast<size_t>(size))));
      std::vector<Output> got;
      ASSERT_TRUE(Call(requests, &got).ok());
      std::string all;
      for (const Output& output : got) all += output.data;
      ASSERT_EQ(got.size(), c.split > 0 ? 2u : 1u);
      EXPECT_EQ(
          got[0].data.size(),
          static_cast<size_t>((c.split > 0 ? c.split : c.images) * image));
      EXPECT_TRUE(all == nchw) << c.images << " images, pieces of " << size;
    }
  }
  EXPECT_TRUE(IsEmpty());
}

TEST_F(StreamPipeline, BlocksThatDoNotNestWaitForTheWholeInput) {
  // More than the server takes from the connection before it begins.
  const int64_t channels = 48, positions = 512 * 512, block = 16;
  const auto at = [&](int64_t c, int64_t position) {
    return static_cast<size_t>((c / block * positions + position) * block +
                               c % block);
  };
  std::string data(static_cast<size_t>(channels * positions), '\0');
  testing::Random(3).Fill(reinterpret_cast<std::byte*>(data.data()),
                          data.size());
  std::string want(data.size(), '\0');
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t p = 0; p < positions; ++p)
      want[at(c, p)] = data[at(c % 3 * (channels / 3) + c / 3, p)];
  std::vector<Request> requests = {Header(
      pb::DATA_TYPE_U8, {1, channels, 512, 512}, {ShuffleChannels{1, 3}})};
  requests[0].mutable_input()->set_layout(pb::LAYOUT_NCX16C);
  for (size_t i = 0; i < data.size(); i += 1'000'003)
    requests.push_back(Piece(data.substr(i, 1'000'003)));
  std::vector<Output> got;
  const grpc::Status status = Call(requests, &got);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(got.size(), 1u);
  EXPECT_TRUE(got[0].data == want);
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

}  // namespace
}  // namespace axis
