// Claims of server/wire/rest.h: the rest is the message without that field,
// however it is written and cut; and no more of it is read than was allowed.
#include "server/wire/rest.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "inference/infer.pb.h"
#include "tests/server/wire_oracle.h"

namespace axis {
namespace {

constexpr uint32_t kData[] = {1, 3};
constexpr uint32_t kRaw[] = {7};
constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

// Bytes of a message that are not what the field at `path` holds.
int64_t Beside(const std::string& message, int64_t held) {
  return static_cast<int64_t>(message.size()) - held;
}

TEST(Rest, IsTheMessageWithoutItsData) {
  Rng rng(7);
  for (int i = 0; i < 300; ++i) {
    pb::RunPipelineRequest request;
    int64_t held = 0;
    for (int64_t inputs = Pick(rng, 4); inputs > 0; --inputs) {
      pb::Tensor& tensor = *request.add_inputs();
      tensor.set_data_type(pb::DATA_TYPE_U4);
      for (int64_t rank = Pick(rng, 4); rank > 0; --rank)
        tensor.add_shape(Pick(rng, 1000));
      if (Pick(rng, 4) == 0) {
        tensor.mutable_values()->add_uints(5);
      } else {
        tensor.set_data(std::string(static_cast<size_t>(Pick(rng, 300)), '\1'));
        held += static_cast<int64_t>(tensor.data().size());
      }
    }
    request.add_ops()->mutable_shuffle()->set_axis(Pick(rng, 9));
    const std::string bytes = request.SerializeAsString();
    const auto rest =
        RestOf(CutAnywhere(bytes, rng), kData, Beside(bytes, held));
    ASSERT_TRUE(rest) << request.DebugString();
    for (pb::Tensor& tensor : *request.mutable_inputs())
      if (tensor.has_data()) tensor.clear_data();
    EXPECT_EQ(*rest, request.SerializeAsString());
    EXPECT_FALSE(
        RestOf(CutAnywhere(bytes, rng), kData, Beside(bytes, held) - 1));
  }
}

TEST(Rest, KeepsWhatItDoesNotKnow) {
  const std::string unknown =
      Number(15, 300) + Sized(9, "what") + Tag(8, 5) + "four";
  const std::string tensor = Number(1, 2) + unknown;
  EXPECT_EQ(RestOf(Cut(unknown + Sized(1, tensor + Sized(3, "data")), 2), kData,
                   kAll),
            unknown + Sized(1, tensor));
  // Of other wire types it is another field.
  EXPECT_EQ(RestOf(Cut(Number(7, 1) + Number(1, 3), 2), kData, kAll),
            Number(7, 1) + Number(1, 3));
}

TEST(Rest, OfOneField) {
  inference::ModelInferRequest request;
  request.set_model_name("Transpose");
  request.add_inputs()->set_name("arg");
  const std::string rest = request.SerializeAsString();
  request.add_raw_input_contents(std::string(100000, 'x'));
  request.add_raw_input_contents("");
  const std::string bytes = request.SerializeAsString();
  EXPECT_EQ(RestOf(Cut(bytes, 4096), kRaw, Beside(bytes, 100000)), rest);
  EXPECT_FALSE(RestOf(Cut(bytes, 4096), kRaw, Beside(bytes, 100000) - 1));
}

TEST(Rest, EveryTimeThatTheFieldIsThereCosts) {
  const std::string many = Repeated(1000, Sized(7, ""));
  EXPECT_EQ(RestOf(Cut(many, 100), kRaw, 2000), "");
  EXPECT_FALSE(RestOf(Cut(many, 100), kRaw, 1999));
}

TEST(Rest, OfNoMessage) {
  for (const std::string& bytes :
       {std::string("\x08"), Sized(1, "\x08"), Sized(1, Tag(3, 2) + "\x7F"),
        Sized(3, "cut").substr(0, 4), Tag(8, 5) + "fou", Groups(1),
        std::string("\0", 1), Tag(3, 2) + Varint(1, 6) + "x"})
    EXPECT_FALSE(RestOf(Cut(bytes, 3), kData, kAll)) << bytes;
  EXPECT_EQ(RestOf(grpc::ByteBuffer(), kData, kAll), std::nullopt);
  EXPECT_EQ(RestOf(Cut(Sized(1, ""), 1), kData, kAll), Sized(1, ""));
}

TEST(StringIn, TheLastOne) {
  const std::string bytes = Sized(1, "first") + Number(1, 7) + Sized(5, "no") +
                            Sized(1, "last") + Tag(8, 5) + "four";
  for (size_t piece : {1, 3, 100})
    EXPECT_EQ(StringIn(Cut(bytes, piece), 1), "last");
  EXPECT_EQ(StringIn(Cut(bytes, 3), 2), "");
  EXPECT_EQ(StringIn(Cut(Sized(1, "all") + Sized(1, ""), 2), 1), "");
}

TEST(StringIn, NoMessage) {
  for (const std::string& rest :
       {std::string("\x08"), Groups(1), Sized(1, "cut").substr(0, 4)})
    EXPECT_FALSE(StringIn(Cut(Sized(1, "found") + rest, 3), 1)) << rest;
  EXPECT_EQ(StringIn(grpc::ByteBuffer(), 1), std::nullopt);
}

}  // namespace
}  // namespace axis
