// Elements spelled for people: every type, every code of the narrow ones, and
// what does not fit.
#include "server/elements/values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "server/elements/types.h"
#include "tests/server/elements/spelling.h"

namespace axis {
namespace {

using testing::Bytes;
using testing::FieldOfPack;
using testing::Floats;
using testing::Ints;
using testing::kInf;
using testing::Pack;
using testing::Packed;
using testing::Uints;
using testing::Unpack;

bool HasInt(pb::DataType type, int64_t number) {
  return Pack(Ints({number}), type, 1).ok();
}
bool HasUint(pb::DataType type, uint64_t number) {
  return Pack(Uints({number}), type, 1).ok();
}

TEST(ValuesTest, EveryCodeOfTheNarrowTypesComesBack) {
  for (int i = pb::DataType_MIN; i <= pb::DataType_MAX; ++i) {
    const pb::DataType type = static_cast<pb::DataType>(i);
    const int bits = BitsOf(type);
    if (bits == 0 || bits > 16) continue;
    SCOPED_TRACE(NameOf(type));
    // All codes, one after the other, as many as fill the last unit.
    const int64_t n = int64_t{1} << (type == pb::DATA_TYPE_BOOL ? 1 : bits);
    std::string all;
    if (bits >= 8) {
      for (int64_t code = 0; code < n; ++code)
        all.append(reinterpret_cast<const char*>(&code),
                   static_cast<size_t>(bits / 8));
    } else {
      // Any bytes do: each code comes up somewhere in them.
      for (int byte = 0; byte < 256 * 3; ++byte)
        all += static_cast<char>(byte * 7 + byte / 256);
    }
    const int64_t elements =
        bits >= 8 ? n : static_cast<int64_t>(all.size()) * 8 / bits;
    const absl::StatusOr<std::string> back =
        Pack(Unpack(all, type, elements), type, elements);
    ASSERT_TRUE(back.ok()) << back.status();
    if (bits < 8) {
      EXPECT_EQ(*back, all);
      continue;
    }
    int nans = 0;
    for (int64_t code = 0; code < n; ++code) {
      const size_t width = static_cast<size_t>(bits / 8);
      const size_t at = static_cast<size_t>(code) * width;
      const pb::Values one = Unpack(all.substr(at, width), type, 1);
      if (one.floats_size() == 1 && std::isnan(one.floats(0))) {
        ++nans;
        const pb::Values again = Unpack(back->substr(at, width), type, 1);
        EXPECT_TRUE(std::isnan(again.floats(0))) << code;
      } else {
        EXPECT_EQ(back->substr(at, width), all.substr(at, width)) << code;
      }
    }
    const int expected = type == pb::DATA_TYPE_F16      ? 2 * 1023
                         : type == pb::DATA_TYPE_BF16   ? 2 * 127
                         : type == pb::DATA_TYPE_F8E5M2 ? 2 * 3
                         : type == pb::DATA_TYPE_F8E4M3 ? 2
                         : type == pb::DATA_TYPE_F8E8M0 ? 1
                                                        : 0;
    EXPECT_EQ(nans, expected);
  }
}

TEST(ValuesTest, TakesOnlyIntegersThatTheTypeHas) {
  const struct {
    pb::DataType type;
    int64_t min, max;
  } ints[] = {{pb::DATA_TYPE_BOOL, 0, 1},
              {pb::DATA_TYPE_I4, -8, 7},
              {pb::DATA_TYPE_I8, -128, 127},
              {pb::DATA_TYPE_I16, -32768, 32767},
              {pb::DATA_TYPE_I32, INT32_MIN, INT32_MAX}};
  for (const auto& c : ints) {
    SCOPED_TRACE(NameOf(c.type));
    EXPECT_TRUE(HasInt(c.type, c.min) && HasInt(c.type, c.max));
    EXPECT_FALSE(HasInt(c.type, c.min - 1) || HasInt(c.type, c.max + 1));
  }
  EXPECT_TRUE(HasInt(pb::DATA_TYPE_I64, INT64_MIN));
  EXPECT_TRUE(HasInt(pb::DATA_TYPE_I64, INT64_MAX));
  const struct {
    pb::DataType type;
    uint64_t max;
  } uints[] = {{pb::DATA_TYPE_U1, 1},      {pb::DATA_TYPE_U2, 3},
               {pb::DATA_TYPE_U3, 7},      {pb::DATA_TYPE_U4, 15},
               {pb::DATA_TYPE_U6, 63},     {pb::DATA_TYPE_U8, 255},
               {pb::DATA_TYPE_U16, 65535}, {pb::DATA_TYPE_U32, UINT32_MAX}};
  for (const auto& c : uints) {
    EXPECT_TRUE(HasUint(c.type, c.max)) << NameOf(c.type);
    EXPECT_FALSE(HasUint(c.type, c.max + 1)) << NameOf(c.type);
  }
  EXPECT_TRUE(HasUint(pb::DATA_TYPE_U64, UINT64_MAX));
}

TEST(ValuesTest, PacksInTheOrderOfOpenVino) {
  EXPECT_EQ(Packed(Uints({1, 2, 3}), pb::DATA_TYPE_U4, 3), (Bytes{0x21, 0x03}));
  EXPECT_EQ(Packed(Ints({-1, 7}), pb::DATA_TYPE_I4, 2), (Bytes{0x7F}));
  EXPECT_EQ(Packed(Uints({1, 2, 3, 0, 1}), pb::DATA_TYPE_U2, 5),
            (Bytes{0b01101100, 0b01000000}));
  EXPECT_EQ(Packed(Uints({1, 0, 0, 0, 0, 0, 0, 0, 1}), pb::DATA_TYPE_U1, 9),
            (Bytes{0x80, 0x80}));
  // Low 2 bits of each, then bit 2 of each.
  EXPECT_EQ(Packed(Uints({1, 2, 3, 4, 5, 6, 7, 0, 4}), pb::DATA_TYPE_U3, 9),
            (Bytes{0b01101100, 0b01101100, 0b00011110, 0, 0, 0b10000000}));
  // Low 4 bits of each, then high 2 bits of each.
  EXPECT_EQ(Packed(Uints({0x1F, 0x2E, 0x3D, 0x0C}), pb::DATA_TYPE_U6, 4),
            (Bytes{0xFE, 0xDC, 0b01101100}));
  EXPECT_EQ(Packed(Floats({-6, 0.5}), pb::DATA_TYPE_F4E2M1, 2), (Bytes{0x1F}));
  EXPECT_EQ(Packed(Ints({-2}), pb::DATA_TYPE_I16, 1), (Bytes{0xFE, 0xFF}));
}

TEST(ValuesTest, ComplexNumbersAreTwo) {
  for (const pb::DataType type : {pb::DATA_TYPE_C64, pb::DATA_TYPE_C128}) {
    const absl::StatusOr<std::string> bytes =
        Pack(Floats({1, -2, 0.5, kInf}), type, 2);
    ASSERT_TRUE(bytes.ok());
    EXPECT_EQ(static_cast<int>(bytes->size()), BitsOf(type) / 8 * 2);
    EXPECT_EQ(Unpack(*bytes, type, 2).SerializeAsString(),
              Floats({1, -2, 0.5, kInf}).SerializeAsString());
    EXPECT_EQ(FieldOfPack(Floats({1, 2, 3}), type, 2), "values.floats");
  }
  EXPECT_EQ(FieldOfPack(Floats({1, 1e39}), pb::DATA_TYPE_C64, 1),
            "values.floats[1]");
}

TEST(ValuesTest, StringsCarryTheirLength) {
  pb::Values values;
  values.add_strings("ab");
  values.add_strings("");
  values.add_strings(std::string(1, '\0'));
  const absl::StatusOr<std::string> bytes =
      Pack(values, pb::DATA_TYPE_STRING, 3);
  ASSERT_TRUE(bytes.ok());
  using std::string_literals::operator""s;
  EXPECT_EQ(*bytes, "\2\0\0\0ab\0\0\0\0\1\0\0\0\0"s);
  EXPECT_EQ(Unpack(*bytes, pb::DATA_TYPE_STRING, 3).SerializeAsString(),
            values.SerializeAsString());
}

TEST(ValuesTest, NamesWhatIsWrong) {
  const absl::Status list = Pack(Ints({1}), pb::DATA_TYPE_U8, 1).status();
  EXPECT_EQ(FieldOf(list), "values");
  EXPECT_EQ(list.message(), "must spell U8 in uints, uses ints");
  const absl::Status count = Pack(Ints({1}), pb::DATA_TYPE_I8, 2).status();
  EXPECT_EQ(FieldOf(count), "values.ints");
  EXPECT_EQ(count.message(), "must hold 2 for this type and shape, holds 1");
  const absl::Status range = Pack(Ints({1, -9}), pb::DATA_TYPE_I4, 2).status();
  EXPECT_EQ(FieldOf(range), "values.ints[1]");
  EXPECT_EQ(range.message(), "must lie in [-8, 7] for I4, is -9");
  const absl::Status exact = Pack(Floats({0.1}), pb::DATA_TYPE_F16, 1).status();
  EXPECT_EQ(exact.message(),
            "must be exactly representable in F16, is 0.10000000000000001");
  // Both lists; the right one alone would do.
  pb::Values both = Uints({1});
  both.add_floats(1);
  EXPECT_EQ(FieldOfPack(both, pb::DATA_TYPE_U8, 1), "values");
  EXPECT_EQ(FieldOfPack({}, pb::DATA_TYPE_UNSPECIFIED, 0), "data_type");
  EXPECT_EQ(FieldOfPack({}, static_cast<pb::DataType>(99), 0), "data_type");
}

TEST(ValuesTest, NoElementsAreSpelledByNothing) {
  for (int i = 1; i <= pb::DataType_MAX; ++i) {
    const pb::DataType type = static_cast<pb::DataType>(i);
    EXPECT_EQ(Packed({}, type, 0), Bytes{});
    EXPECT_EQ(Unpack("", type, 0).ByteSizeLong(), 0u);
    EXPECT_FALSE(Pack({}, type, 1).ok());
  }
}

}  // namespace
}  // namespace axis
