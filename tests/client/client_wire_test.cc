// Claims of the wire of the client: it sends what the generated code would
// send, reads what the generated code would read, however it is cut, and takes
// no harm from anything else.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "axis/v1/tensor_service.pb.h"
#include "client/wire.h"
#include "tests/client/tensors.h"

namespace axis {
namespace {

std::string Text(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices)
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

// A message in pieces of at most `most` bytes, some of them empty.
template <typename Random>
grpc::ByteBuffer Cut(const std::string& message, size_t most, Random& random) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < message.size();) {
    const size_t size = std::min(random() % (most + 1), message.size() - at);
    slices.emplace_back(message.data() + at, size);
    at += size;
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

absl::StatusOr<std::vector<Tensor>> Unpack(const std::string& message,
                                           bool repeated = true) {
  const grpc::Slice slice(message);
  grpc::ByteBuffer buffer(&slice, 1);
  return UnpackResponse(buffer, repeated);
}

pb::Tensor AsMessage(const Tensor& tensor) {
  pb::Tensor message;
  message.set_data_type(tensor.data_type);
  message.mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
  message.set_data(Text(tensor.data));
  message.set_layout(tensor.layout);
  return message;
}

std::vector<Tensor> Samples() {
  std::vector<Tensor> samples = {
      MakeTensor<float>({}, {1.5f}),
      MakeTensor<uint8_t>({2, 3}, {1, 2, 3, 4, 5, 6}),
      MakeTensor<int16_t>({0, -1, INT64_MAX}, {}),
      MakeTensor<int32_t>({300, 200}, std::vector<int32_t>(60000, 77)),
  };
  samples[3].layout = pb::LAYOUT_NXC;
  Tensor pieces = MakeTensor<uint8_t>({1, 5}, {});
  for (const char* text : {"a", "", "bcd", "e"})
    pieces.data.Append(Bytes::Own(std::string(text)));
  pieces.layout = pb::LAYOUT_NCX16C;
  samples.push_back(pieces);
  samples.emplace_back();
  samples.back().data_type = static_cast<pb::DataType>(12345);
  return samples;
}

TEST(ClientWireTest, RequestsAreByteForByteThoseOfTheGeneratedCode) {
  const std::vector<Tensor> samples = Samples();
  pb::RunPipelineRequest all;
  all.add_ops()->mutable_variadic_split()->add_split_lengths(-1);
  all.add_ops()->mutable_transpose();
  const pb::RunPipelineRequest rest = all;
  for (const Tensor& sample : samples) {
    *all.add_inputs() = AsMessage(sample);
    pb::TransposeRequest one;
    one.mutable_op()->add_order(3);
    const pb::TransposeRequest op = one;
    *one.mutable_input() = AsMessage(sample);
    EXPECT_EQ(Text(PackRequest({&sample, 1}, op)), one.SerializeAsString());
  }
  EXPECT_EQ(Text(PackRequest(samples, rest)), all.SerializeAsString());
  EXPECT_EQ(Text(PackRequest({}, pb::RunPipelineRequest())), "");
}

TEST(ClientWireTest, BytesAreSentFromWhereTheyLie) {
  const Tensor tensor = MakeTensor<int32_t>({1000}, std::vector<int32_t>(1000));
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(
      PackRequest({&tensor, 1}, pb::TransposeRequest()).Dump(&slices).ok());
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(static_cast<const void*>(slices[1].begin()),
            tensor.data.Pieces()[0].data());
}

TEST(ClientWireTest, ResponsesAreReadHoweverTheyAreCut) {
  pb::RunPipelineResponse response;
  for (const Tensor& sample : Samples())
    *response.add_outputs() = AsMessage(sample);
  const std::string message = response.SerializeAsString();
  std::mt19937 random(1);
  for (const size_t most : {1, 2, 3, 7, 100, 5000, 1 << 20}) {
    grpc::ByteBuffer buffer = Cut(message, most, random);
    const auto tensors = UnpackResponse(buffer, true);
    ASSERT_TRUE(tensors.ok()) << tensors.status();
    ASSERT_EQ(tensors->size(), 6u);
    for (int i = 0; i < 6; ++i)
      EXPECT_EQ(AsMessage((*tensors)[static_cast<size_t>(i)]).DebugString(),
                response.outputs(i).DebugString());
  }
}

TEST(ClientWireTest, FieldsComeInAnyOrderAndMergeAsInProtobuf) {
  // Data, an unknown field, an unknown group, unpacked and packed extents.
  const std::string first("\x1a\x02xy\x72\x01z\x7b\x08\x01\x7c\x10\x02", 13);
  const std::string second("\x12\x02\x03\x04\x08\x02\x1a\x03vwx", 11);
  const std::string message =
      std::string("\x10\x05\x0a\x0d") + first + "\x0a\x0b" + second;
  const auto merged = Unpack(message, false);
  ASSERT_TRUE(merged.ok()) << merged.status();
  ASSERT_EQ(merged->size(), 1u);
  EXPECT_EQ((*merged)[0].shape, (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ((*merged)[0].data_type, pb::DATA_TYPE_U8);
  EXPECT_EQ(Text((*merged)[0].data), "vwx");
  const auto apart = Unpack(message, true);
  ASSERT_TRUE(apart.ok()) << apart.status();
  ASSERT_EQ(apart->size(), 2u);
  EXPECT_EQ(Text((*apart)[0].data), "xy");

  const auto none = Unpack("", false);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ((*none)[0].data_type, pb::DATA_TYPE_UNSPECIFIED);
  EXPECT_TRUE(Unpack("", true)->empty());
}

TEST(ClientWireTest, WhatIsNoMessageOfTheContractIsInternal) {
  const auto tensor = [](const std::string& fields) {
    return std::string(1, '\x0a') + static_cast<char>(fields.size()) + fields;
  };
  const std::string bad[] = {
      std::string(1, '\0'),                            // field number 0
      "\x0a",                                          // no length
      "\x0a\x05",                                      // no bytes
      "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  // a length of 2^64 - 1
      "\x0a\xff\xff\xff\xff\x0f",                      // a length of 2^32 - 1
      "\x0c",                                          // the end of no group
      "\x0f",                                          // no wire type
      tensor("\x1a\x05xy"),                            // data past the tensor
      tensor("\x1a\x05xy") + "abc",                    // ... but in the message
      tensor("\x12\x02\x80"),                          // an extent cut short
      tensor("\x12\x01\x80\x01"),
      tensor("\x08"),
      tensor(std::string("\x22\x00", 2)),  // values
      tensor(std::string(1, '\x12') + '\x21' + std::string(33, '\1')),
      tensor("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
  };
  for (const std::string& message : bad)
    EXPECT_EQ(Unpack(message).status().code(), absl::StatusCode::kInternal)
        << testing::PrintToString(message);
  std::string many;
  for (int i = 0; i < 4096; ++i) many += std::string("\x0a\x00", 2);
  EXPECT_TRUE(Unpack(many).ok());
  EXPECT_FALSE(Unpack(many + std::string("\x0a\x00", 2)).ok());
  grpc::ByteBuffer none;
  EXPECT_FALSE(UnpackResponse(none, true).ok());
}

TEST(ClientWireTest, MutatedResponsesAreReadAsTheGeneratedCodeReadsThem) {
  pb::RunPipelineResponse response;
  for (const Tensor& sample : Samples())
    if (sample.data.size() < 100) *response.add_outputs() = AsMessage(sample);
  const std::string message = response.SerializeAsString();
  std::mt19937 random(2);
  int accepted = 0, refused = 0;
  for (int round = 0; round < 100000; ++round) {
    std::string mutated = message;
    for (size_t n = random() % 4 + 1; n-- > 0 && !mutated.empty();) {
      const size_t at = random() % mutated.size();
      switch (random() % 3) {
        case 0:
          mutated[at] = static_cast<char>(random());
          break;
        case 1:
          mutated.erase(at, random() % 4);
          break;
        default:
          mutated.insert(at, 1 + random() % 3, static_cast<char>(random()));
      }
    }
    pb::RunPipelineResponse expected;
    bool good = expected.ParseFromString(mutated);
    for (const pb::Tensor& tensor : expected.outputs())
      good = good && !tensor.has_values() && tensor.shape_size() <= 32;
    grpc::ByteBuffer buffer = Cut(mutated, 16, random);
    const auto tensors = UnpackResponse(buffer, true);
    // What both should refuse, tags of more than 5 bytes, ours may take.
    refused += !tensors.ok();
    if (!good) continue;
    ASSERT_TRUE(tensors.ok()) << testing::PrintToString(mutated);
    ++accepted;
    ASSERT_EQ(tensors->size(), static_cast<size_t>(expected.outputs_size()));
    for (size_t i = 0; i < tensors->size(); ++i) {
      pb::Tensor wanted = expected.outputs(static_cast<int>(i));
      wanted.DiscardUnknownFields();
      wanted.set_data(wanted.data());
      EXPECT_EQ(AsMessage((*tensors)[i]).SerializeAsString(),
                wanted.SerializeAsString())
          << testing::PrintToString(mutated);
    }
  }
  EXPECT_GT(accepted, 10000);
  EXPECT_GT(refused, 10000);
}

TEST(BytesTest, PartsAreShared) {
  Bytes bytes = Bytes::Own(std::string("abc"));
  bytes.Append(Bytes::Own(std::string(1000, 'x')));
  bytes.Append(bytes);
  EXPECT_EQ(bytes.size(), 2006u);
  EXPECT_EQ(Text(bytes.Sub(2, 2)), "cx");
  EXPECT_EQ(Text(bytes.Sub(1002, 5)), "xabcx");
  EXPECT_EQ(bytes.Sub(2006, 0).size(), 0u);
  const Bytes part = bytes.Sub(4, 500);
  EXPECT_EQ(part.Pieces()[0].data(), bytes.Pieces()[1].data() + 1);
}

TEST(BytesTest, TheOwnerIsLetGoWithTheLastReference) {
  const auto owner = std::make_shared<const std::string>(1000, 'x');
  {
    Bytes bytes = Bytes::Share(owner->data(), owner->size(), owner);
    const Bytes copy = bytes.Sub(10, 900);
    bytes = Bytes();
    EXPECT_GT(owner.use_count(), 1);
  }
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(TensorTest, BytesFollowFromTypeShapeAndLayout) {
  using Shape = std::vector<int64_t>;
  const auto bytes = [](pb::DataType type, Shape shape,
                        pb::Layout layout = pb::LAYOUT_UNSPECIFIED) {
    return DataBytes({type, std::move(shape), {}, layout}).value_or(-1);
  };
  EXPECT_EQ(bytes(pb::DATA_TYPE_F32, {}), 4);
  EXPECT_EQ(bytes(pb::DATA_TYPE_C128, {2, 3}), 96);
  EXPECT_EQ(bytes(pb::DATA_TYPE_U4, {3, 3}), 5);
  EXPECT_EQ(bytes(pb::DATA_TYPE_U1, {17}), 3);
  EXPECT_EQ(bytes(pb::DATA_TYPE_U2, {0}), 0);
  EXPECT_EQ(bytes(pb::DATA_TYPE_U3, {9}), 6);
  EXPECT_EQ(bytes(pb::DATA_TYPE_U6, {4}), 3);
  EXPECT_EQ(bytes(pb::DATA_TYPE_U6, {5}), 6);
  EXPECT_EQ(bytes(pb::DATA_TYPE_F16, {2, 3, 5}, pb::LAYOUT_NXC), 60);
  EXPECT_EQ(bytes(pb::DATA_TYPE_F16, {2, 3, 5}, pb::LAYOUT_NCX8C), 160);
  EXPECT_EQ(bytes(pb::DATA_TYPE_F16, {2, 16, 5}, pb::LAYOUT_NCX16C), 320);
  EXPECT_EQ(bytes(pb::DATA_TYPE_F16, {2, 0, 5}, pb::LAYOUT_NCX4C), 0);
  EXPECT_EQ(bytes(pb::DATA_TYPE_F32, {INT64_MAX / 4}), INT64_MAX / 4 * 4);
  EXPECT_EQ(bytes(pb::DATA_TYPE_U1, {INT64_MAX}), INT64_MAX / 8 + 1);
  for (const int64_t none :
       {bytes(pb::DATA_TYPE_STRING, {1}), bytes(pb::DATA_TYPE_UNSPECIFIED, {}),
        bytes(static_cast<pb::DataType>(99), {}),
        bytes(pb::DATA_TYPE_U8, {2, 3}, static_cast<pb::Layout>(9)),
        bytes(pb::DATA_TYPE_U8, {2}, pb::LAYOUT_NXC),
        bytes(pb::DATA_TYPE_U4, {2, 2}, pb::LAYOUT_NXC),
        bytes(pb::DATA_TYPE_U8, {-1}), bytes(pb::DATA_TYPE_U8, {-1, 0}),
        bytes(pb::DATA_TYPE_F32, {INT64_MAX / 4 + 1}),
        bytes(pb::DATA_TYPE_F32, {INT64_MAX, INT64_MAX, 0}),
        bytes(pb::DATA_TYPE_U8, {1, INT64_MAX}, pb::LAYOUT_NCX4C),
        bytes(pb::DATA_TYPE_U8, {1, -5}, pb::LAYOUT_NCX4C)})
    EXPECT_EQ(none, -1);
}

}  // namespace
}  // namespace axis
