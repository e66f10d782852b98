// How wide types are, what layouts add, and which shapes are refused.
#include "server/elements/types.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/status.h"

namespace axis {
namespace {

constexpr int64_t kMax = INT64_MAX;

int64_t BytesOf(pb::DataType type, const std::vector<int64_t>& shape) {
  const absl::StatusOr<TensorSize> size = SizeOf(type, shape);
  EXPECT_TRUE(size.ok()) << size.status();
  return size.ok() ? size->bytes : -1;
}
std::string FieldOfSize(pb::DataType type, const std::vector<int64_t>& shape) {
  return FieldOf(SizeOf(type, shape).status());
}

TEST(TypesTest, EveryTypeHasAWidth) {
  for (int i = 1; i <= pb::DataType_MAX; ++i) {
    const pb::DataType type = static_cast<pb::DataType>(i);
    EXPECT_EQ(BitsOf(type) > 0, type != pb::DATA_TYPE_STRING) << i;
  }
  EXPECT_EQ(BitsOf(pb::DATA_TYPE_UNSPECIFIED), 0);
  EXPECT_EQ(BitsOf(static_cast<pb::DataType>(28)), 0);
  EXPECT_EQ(NameOf(pb::DATA_TYPE_F8E4M3), "F8E4M3");
  EXPECT_EQ(NameOf(static_cast<pb::DataType>(28)), "28");
}

TEST(TypesTest, PacksUnits) {
  EXPECT_EQ(BytesOf(pb::DATA_TYPE_F32, {}), 4);
  EXPECT_EQ(BytesOf(pb::DATA_TYPE_C128, {2, 3}), 96);
  EXPECT_EQ(BytesOf(pb::DATA_TYPE_U1, {9}), 2);
  EXPECT_EQ(BytesOf(pb::DATA_TYPE_U2, {5}), 2);
  EXPECT_EQ(BytesOf(pb::DATA_TYPE_I4, {3}), 2);
  EXPECT_EQ(BytesOf(pb::DATA_TYPE_U3, {1}), 3);
  EXPECT_EQ(BytesOf(pb::DATA_TYPE_U3, {9}), 6);
  EXPECT_EQ(BytesOf(pb::DATA_TYPE_U6, {4}), 3);
  EXPECT_EQ(BytesOf(pb::DATA_TYPE_U6, {5}), 6);
  EXPECT_EQ(BytesOf(pb::DATA_TYPE_STRING, {5}), 20);
  EXPECT_EQ(BytesOf(pb::DATA_TYPE_F64, {7, 0}), 0);
  EXPECT_EQ(SizeOf(pb::DATA_TYPE_U3, {3, 3})->elements, 9);
  EXPECT_EQ(SizeOf(pb::DATA_TYPE_U3, {3, 0})->elements, 0);
}

TEST(TypesTest, LayoutsCountTheirPadding) {
  const std::vector<int64_t> shape = {2, 12, 5};
  EXPECT_EQ(SizeOf(pb::DATA_TYPE_F32, shape, kChannelsLast)->bytes, 480);
  EXPECT_EQ(SizeOf(pb::DATA_TYPE_F32, shape, {16})->bytes, 640);
  EXPECT_EQ(SizeOf(pb::DATA_TYPE_F32, shape, {16})->elements, 120);
  const std::vector<int64_t> large = {kMax / 16, 1};
  EXPECT_TRUE(SizeOf(pb::DATA_TYPE_U8, large, {16}).ok());
  EXPECT_EQ(FieldOf(SizeOf(pb::DATA_TYPE_U16, large, {16}).status()), "shape");
}

TEST(TypesTest, RefusesWhatDoesNotFit63Bits) {
  EXPECT_EQ(BytesOf(pb::DATA_TYPE_U8, {kMax}), kMax);
  EXPECT_EQ(FieldOfSize(pb::DATA_TYPE_U16, {kMax}), "shape");
  EXPECT_EQ(BytesOf(pb::DATA_TYPE_U16, {kMax / 2}), kMax - 1);
  EXPECT_EQ(FieldOfSize(pb::DATA_TYPE_U16, {kMax / 2 + 1}), "shape");
  EXPECT_EQ(BytesOf(pb::DATA_TYPE_U1, {kMax}), kMax / 8 + 1);
  EXPECT_EQ(BytesOf(pb::DATA_TYPE_U6, {kMax}), (kMax / 4 + 1) * 3);
  EXPECT_EQ(FieldOfSize(pb::DATA_TYPE_U1, {kMax, 2}), "shape");
  EXPECT_EQ(FieldOfSize(pb::DATA_TYPE_F32, {65536, 65536, 65536, 65536}),
            "shape");
  // Wherever a zero stands.
  EXPECT_EQ(FieldOfSize(pb::DATA_TYPE_U8, {0, kMax, 2}), "shape");
  EXPECT_EQ(FieldOfSize(pb::DATA_TYPE_U8, {kMax, 2, 0}), "shape");
  EXPECT_EQ(FieldOfSize(pb::DATA_TYPE_U16, {kMax, 0}), "shape");
  EXPECT_EQ(BytesOf(pb::DATA_TYPE_U8, {kMax, 0}), 0);
}

TEST(TypesTest, NamesWhatIsWrong) {
  EXPECT_EQ(FieldOfSize(pb::DATA_TYPE_U8, {1, -1}), "shape[1]");
  EXPECT_EQ(FieldOfSize(pb::DATA_TYPE_U8, {0, INT64_MIN}), "shape[1]");
  EXPECT_EQ(FieldOfSize(pb::DATA_TYPE_U8, std::vector<int64_t>(33, 1)),
            "shape");
  EXPECT_EQ(BytesOf(pb::DATA_TYPE_U8, std::vector<int64_t>(32, 1)), 1);
  EXPECT_EQ(FieldOfSize(pb::DATA_TYPE_UNSPECIFIED, {1}), "data_type");
  EXPECT_EQ(FieldOfSize(static_cast<pb::DataType>(28), {1}), "data_type");
  EXPECT_EQ(FieldOfSize(static_cast<pb::DataType>(-1), {1}), "data_type");
}

}  // namespace
}  // namespace axis
