// Numbers of the float types spelled for people: each code is the number that
// the specification of its type says, and only numbers it has are taken.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "server/elements/types.h"
#include "server/elements/values.h"
#include "tests/server/elements/spelling.h"

namespace axis {
namespace {

using testing::Floats;
using testing::kInf;
using testing::Pack;
using testing::Unpack;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// One number of a float type: whether it has it, and reads it back.
bool Has(pb::DataType type, double number) {
  const absl::StatusOr<std::string> bytes = Pack(Floats({number}), type, 1);
  if (!bytes.ok()) {
    EXPECT_EQ(FieldOf(bytes.status()), "values.floats[0]");
    return false;
  }
  const double back = Unpack(*bytes, type, 1).floats(0);
  EXPECT_TRUE(back == number || (std::isnan(back) && std::isnan(number)))
      << NameOf(type) << " " << number << " " << back;
  return true;
}

#ifdef __FLT16_MANT_DIG__  // the clang that lints has none
TEST(FloatValuesTest, Float16IsThatOfTheCompiler) {
  for (uint32_t code = 0; code < 1 << 16; ++code) {
    const uint16_t bits = static_cast<uint16_t>(code);
    _Float16 expected;
    std::memcpy(&expected, &bits, sizeof bits);
    const double number = DecodeFloat(pb::DATA_TYPE_F16, code);
    if (std::isnan(number)) {
      EXPECT_TRUE(expected != expected) << code;
    } else {
      EXPECT_EQ(number, static_cast<double>(expected)) << code;
      EXPECT_EQ(std::signbit(number), code >> 15 != 0) << code;
    }
    // BF16 is the top half of an F32.
    const double brain = DecodeFloat(pb::DATA_TYPE_BF16, code);
    const double single = DecodeFloat(pb::DATA_TYPE_F32, code << 16);
    EXPECT_TRUE(brain == single || (std::isnan(brain) && std::isnan(single)))
        << code;
  }
}
#endif

TEST(FloatValuesTest, SmallFloatsAreThoseOfTheirSpecifications) {
  // OCP OFP8, OCP MX, QLoRA.
  EXPECT_EQ(DecodeFloat(pb::DATA_TYPE_F8E4M3, 0x7E), 448);
  EXPECT_EQ(DecodeFloat(pb::DATA_TYPE_F8E4M3, 0x08), 0x1p-6);
  EXPECT_EQ(DecodeFloat(pb::DATA_TYPE_F8E4M3, 0x01), 0x1p-9);
  EXPECT_TRUE(std::isnan(DecodeFloat(pb::DATA_TYPE_F8E4M3, 0xFF)));
  EXPECT_EQ(DecodeFloat(pb::DATA_TYPE_F8E5M2, 0x7B), 57344);
  EXPECT_EQ(DecodeFloat(pb::DATA_TYPE_F8E5M2, 0xFC), -kInf);
  EXPECT_EQ(DecodeFloat(pb::DATA_TYPE_F8E5M2, 0x01), 0x1p-16);
  EXPECT_EQ(DecodeFloat(pb::DATA_TYPE_F8E8M0, 0x00), 0x1p-127);
  EXPECT_EQ(DecodeFloat(pb::DATA_TYPE_F8E8M0, 0x7F), 1);
  EXPECT_EQ(DecodeFloat(pb::DATA_TYPE_F8E8M0, 0xFE), 0x1p127);
  const double mx[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (uint64_t code = 0; code < 8; ++code) {
    EXPECT_EQ(DecodeFloat(pb::DATA_TYPE_F4E2M1, code), mx[code]);
    EXPECT_EQ(DecodeFloat(pb::DATA_TYPE_F4E2M1, code + 8), -mx[code]);
  }
  EXPECT_EQ(DecodeFloat(pb::DATA_TYPE_NF4, 0), -1);
  EXPECT_EQ(DecodeFloat(pb::DATA_TYPE_NF4, 7), 0);
  // As the table is printed, it can be sent.
  EXPECT_TRUE(Has(pb::DATA_TYPE_NF4, 0.7229568362236023));
  EXPECT_TRUE(Has(pb::DATA_TYPE_NF4, -0.28444138169288635));
}

TEST(FloatValuesTest, TakesOnlyFloatsThatTheTypeHas) {
  struct Case {
    pb::DataType type;
    std::vector<double> has, has_not;
  };
  const std::vector<Case> cases = {
      {pb::DATA_TYPE_F64, {0.1, 1e308, 5e-324, kInf, kNan, -0.0}, {}},
      {pb::DATA_TYPE_F32,
       {0.5, 0x1.fffffep127, 0x1p-149, -kInf, kNan},
       {1e39, -1e300, 0x1.ffffffp127}},
      {pb::DATA_TYPE_F16,
       {65504, 0x1p-24, 0x1.ffcp-1, kInf, kNan},
       {65536, 65505, 65520, 0x1p-25, 0x1.8p-24, 0.1, 1e300, 5e-324}},
      {pb::DATA_TYPE_BF16,
       {0x1.fep127, 0x1p-133, 256, -kInf, kNan},
       {257, 0x1p128, 0x1p-134, 0.1}},
      {pb::DATA_TYPE_F8E5M2,
       {57344, 0x1p-16, kInf, kNan},
       {65536, 61440, 0x1p-17, 1.125}},
      {pb::DATA_TYPE_F8E4M3,
       {448, -448, 0x1p-9, kNan},
       {480, 464, 512, 0x1p-10, kInf, -kInf}},
      {pb::DATA_TYPE_F8E8M0,
       {1, 0x1p-127, 0x1p127, kNan},
       {0, -0.0, -1, 3, 0x1p128, 0x1p-128, kInf, -kInf, 5e-324}},
      {pb::DATA_TYPE_F4E2M1, {0, 0.5, -6}, {0.25, 5, 7, 8, kInf, kNan}},
      {pb::DATA_TYPE_NF4, {0, 1, -1, -0.0}, {0.5, 1.5, kInf, kNan}}};
  for (const Case& c : cases) {
    for (const double number : c.has)
      EXPECT_TRUE(Has(c.type, number)) << NameOf(c.type) << " " << number;
    for (const double number : c.has_not)
      EXPECT_FALSE(Has(c.type, number)) << NameOf(c.type) << " " << number;
  }
}

TEST(FloatValuesTest, Float32RoundsToNearest) {
  const absl::StatusOr<std::string> bytes =
      Pack(Floats({0.1}), pb::DATA_TYPE_F32, 1);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(Unpack(*bytes, pb::DATA_TYPE_F32, 1).floats(0), double{0.1f});
}

TEST(FloatValuesTest, KeepsTheSignOfZero) {
  for (const pb::DataType type :
       {pb::DATA_TYPE_F64, pb::DATA_TYPE_F32, pb::DATA_TYPE_F16,
        pb::DATA_TYPE_BF16, pb::DATA_TYPE_F8E4M3, pb::DATA_TYPE_F8E5M2,
        pb::DATA_TYPE_F4E2M1}) {
    const absl::StatusOr<std::string> bytes = Pack(Floats({-0.0}), type, 1);
    ASSERT_TRUE(bytes.ok());
    const double back = Unpack(*bytes, type, 1).floats(0);
    EXPECT_EQ(back, 0);
    EXPECT_TRUE(std::signbit(back)) << NameOf(type);
  }
}

}  // namespace
}  // namespace axis
