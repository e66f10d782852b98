// Elements spelled for people: every type, every code of the narrow ones, and
// what does not fit.
#include "server/elements/values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "axis/v1/tensor.pb.h"
#include "kernels/status.h"
#include "server/elements/types.h"

namespace axis {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using Bytes = std::vector<int>;

pb::Values Floats(const std::vector<double>& numbers) {
  pb::Values values;
  values.mutable_floats()->Assign(numbers.begin(), numbers.end());
  return values;
}
pb::Values Ints(const std::vector<int64_t>& numbers) {
  pb::Values values;
  values.mutable_ints()->Assign(numbers.begin(), numbers.end());
  return values;
}
pb::Values Uints(const std::vector<uint64_t>& numbers) {
  pb::Values values;
  values.mutable_uints()->Assign(numbers.begin(), numbers.end());
  return values;
}

absl::StatusOr<std::string> Pack(const pb::Values& values, pb::DataType type,
                                 int64_t elements) {
  AXIS_ASSIGN_OR_RETURN(const int64_t size,
                        ValuesBytes(values, type, elements));
  // Filled, so that bits left alone would show.
  std::vector<std::byte> dst(static_cast<size_t>(size), std::byte{0xFF});
  AXIS_RETURN_IF_ERROR(PackValues(values, type, dst));
  return std::string(reinterpret_cast<const char*>(dst.data()), dst.size());
}

pb::Values Unpack(const std::string& bytes, pb::DataType type,
                  int64_t elements) {
  pb::Values values;
  UnpackValues(type, elements, std::as_bytes(std::span(bytes)), values);
  return values;
}

Bytes Packed(const pb::Values& values, pb::DataType type, int64_t elements) {
  const absl::StatusOr<std::string> bytes = Pack(values, type, elements);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  if (!bytes.ok()) return {};
  const auto* begin = reinterpret_cast<const uint8_t*>(bytes->data());
  return Bytes(begin, begin + bytes->size());
}

std::string FieldOfPack(const pb::Values& values, pb::DataType type,
                        int64_t elements) {
  return FieldOf(Pack(values, type, elements).status());
}

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

#ifdef __FLT16_MANT_DIG__  // the clang that lints has none
TEST(ValuesTest, Float16IsThatOfTheCompiler) {
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

TEST(ValuesTest, SmallFloatsAreThoseOfTheirSpecifications) {
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

TEST(ValuesTest, TakesOnlyFloatsThatTheTypeHas) {
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

TEST(ValuesTest, Float32RoundsToNearest) {
  const absl::StatusOr<std::string> bytes =
      Pack(Floats({0.1}), pb::DATA_TYPE_F32, 1);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(Unpack(*bytes, pb::DATA_TYPE_F32, 1).floats(0), double{0.1f});
}

TEST(ValuesTest, KeepsTheSignOfZero) {
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
