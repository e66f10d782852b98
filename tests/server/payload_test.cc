// Tensor bytes are shared, not copied, and responses are what protobuf reads.
#include "server/wire/payload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "axis/v1/tensor_service.pb.h"
#include "server/wire/wire.h"
#include "tests/server/wire_oracle.h"

namespace axis {
namespace {

TEST(PayloadTest, IsShared) {
  const grpc::Slice slice(Sized(1, Sized(3, std::string(1000, 'd'))));
  std::vector<WireTensor> tensors;
  pb::TransposeRequest rest;
  ASSERT_TRUE(Unpack(grpc::ByteBuffer(&slice, 1), tensors, rest).ok());
  ASSERT_EQ(tensors[0].data->slices().size(), 1u);
  EXPECT_EQ(tensors[0].data->slices()[0].end(), slice.end());
  const Payload part = tensors[0].data->Sub(10, 500);
  EXPECT_EQ(part.slices()[0].begin(), slice.end() - 990);
  EXPECT_EQ(part.size(), 500);
}

TEST(PayloadTest, SubTakesAnyPart) {
  const std::string bytes = "0123456789abcdefghijklmnopqrstuvwxyz";
  Payload payload;
  for (size_t i = 0; i < bytes.size(); i += 7)
    payload.Append(grpc::Slice(bytes.substr(i, 7)));
  for (size_t begin = 0; begin <= bytes.size(); ++begin) {
    for (size_t n = 0; begin + n <= bytes.size(); ++n) {
      const Payload part =
          payload.Sub(static_cast<int64_t>(begin), static_cast<int64_t>(n));
      ASSERT_EQ(Bytes(part), bytes.substr(begin, n));
      ASSERT_EQ(part.size(), static_cast<int64_t>(n));
    }
  }
}

TEST(PayloadTest, NarrowKeepsWhatSubDoes) {
  const std::string bytes = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::vector<grpc::Slice> slices = {grpc::Slice()};
  for (size_t i = 0; i < bytes.size(); i += 7)
    slices.emplace_back(bytes.substr(i, 7));
  const Payload whole(slices);
  EXPECT_EQ(whole.slices().size(), slices.size() - 1);  // none is empty
  for (size_t begin = 0; begin <= bytes.size(); ++begin) {
    for (size_t n = 0; n <= bytes.size() - begin; ++n) {
      Payload payload = whole;
      payload.Narrow(static_cast<int64_t>(begin), static_cast<int64_t>(n));
      EXPECT_EQ(Bytes(payload), bytes.substr(begin, n));
      EXPECT_EQ(payload.size(), static_cast<int64_t>(n));
      for (const grpc::Slice& slice : payload.slices())
        EXPECT_GT(slice.size(), 0u);
    }
  }
}

TEST(PayloadTest, NewBufferIsAlignedAndShared) {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  for (const int64_t size : {0, 1, 23, 24, 1000}) {
    Buffer buffer = NewBuffer(*pool, size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data) % 64, 0u);
    std::fill_n(buffer.data, size, std::byte{'z'});
    const Payload moved = std::move(buffer.payload);
    EXPECT_EQ(Bytes(moved), std::string(static_cast<size_t>(size), 'z'));
  }
}

TEST(PackTest, MakesWhatProtobufReads) {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  std::vector<OutTensor> tensors;
  pb::RunPipelineResponse expected;
  for (const int64_t size : {0, 1, 127, 128, 20000}) {
    Buffer buffer = NewBuffer(*pool, size);
    std::fill_n(buffer.data, size, std::byte{'p'});
    OutTensor& out = tensors.emplace_back();
    out.header.set_data_type(pb::DATA_TYPE_U8);
    out.header.add_shape(size);
    pb::Tensor& tensor = *expected.add_outputs() = out.header;
    if (size == 127) {
      out.header.mutable_values()->add_uints(7);
      tensor = out.header;
    } else {
      tensor.set_data(std::string(static_cast<size_t>(size), 'p'));
      out.data = std::move(buffer.payload);
    }
  }
  int64_t bytes = 0;
  for (const OutTensor& tensor : tensors)
    bytes += PackedBytes(tensor.header, tensor.data.size());
  const grpc::ByteBuffer packed = Pack(tensors);
  EXPECT_EQ(static_cast<int64_t>(packed.Length()), bytes);
  grpc::Slice slice;
  ASSERT_TRUE(packed.DumpToSingleSlice(&slice).ok());
  pb::RunPipelineResponse response;
  ASSERT_TRUE(
      response.ParseFromArray(slice.begin(), static_cast<int>(slice.size())));
  EXPECT_TRUE(response.outputs(0).has_data());
  EXPECT_EQ(response.SerializeAsString(), expected.SerializeAsString());
}

}  // namespace
}  // namespace axis
