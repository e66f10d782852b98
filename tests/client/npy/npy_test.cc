// Claims of the .npy reader and writer: every version, order, byte order and
// type comes out as the elements NumPy meant, and what is written is read back.
#include "client/npy/npy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/client/npy/npy_file.h"
#include "tests/client/tensors.h"

namespace axis {
namespace {

TEST(NpyTest, EveryVersionIsRead) {
  for (const int major : {1, 2, 3}) {
    const auto tensor =
        ReadNpy(File(Literal("<u2", "(2, 3)"), Counting(12), major));
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(tensor->data_type, pb::DATA_TYPE_U16);
    EXPECT_EQ(tensor->shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(Text(tensor->data), Counting(12));
  }
  for (const int major : {0, 4, 255})
    EXPECT_TRUE(absl::StrContains(
        Message(File(Literal("<u2", "(2, 3)"), Counting(12), major)),
        "version must be 1.0, 2.0 or 3.0"));
}

struct Type {
  const char* descr;
  pb::DataType data_type;
  size_t bytes;
  size_t swapped;  // bytes of what is turned round when big-endian
};
constexpr Type kTypes[] = {
    {"b1", pb::DATA_TYPE_BOOL, 1, 1}, {"u1", pb::DATA_TYPE_U8, 1, 1},
    {"i1", pb::DATA_TYPE_I8, 1, 1},   {"u2", pb::DATA_TYPE_U16, 2, 2},
    {"i2", pb::DATA_TYPE_I16, 2, 2},  {"f2", pb::DATA_TYPE_F16, 2, 2},
    {"u4", pb::DATA_TYPE_U32, 4, 4},  {"i4", pb::DATA_TYPE_I32, 4, 4},
    {"f4", pb::DATA_TYPE_F32, 4, 4},  {"u8", pb::DATA_TYPE_U64, 8, 8},
    {"i8", pb::DATA_TYPE_I64, 8, 8},  {"f8", pb::DATA_TYPE_F64, 8, 8},
    {"c8", pb::DATA_TYPE_C64, 8, 4},  {"c16", pb::DATA_TYPE_C128, 16, 8},
};

TEST(NpyTest, EveryTypeIsReadInEveryByteOrder) {
  for (const Type& type : kTypes) {
    const std::string data = Counting(3 * type.bytes);
    std::string swapped;
    for (size_t at = 0; at < data.size(); at += type.swapped)
      for (size_t i = type.swapped; i-- > 0;) swapped += data[at + i];
    for (const char order : {'<', '=', '|', '>'}) {
      const std::string descr = absl::StrCat(std::string(1, order), type.descr);
      const auto tensor = ReadNpy(File(Literal(descr, "(3,)"), data));
      ASSERT_EQ(tensor.ok(), order != '|' || type.bytes == 1) << descr;
      if (!tensor.ok()) continue;
      EXPECT_EQ(tensor->data_type, type.data_type) << descr;
      EXPECT_EQ(Text(tensor->data), order == '>' ? swapped : data) << descr;
    }
  }
}

TEST(NpyTest, FortranOrderBecomesRowMajor) {
  for (const Type& type : kTypes) {
    const std::string descr =
        absl::StrCat(type.bytes == 1 ? "|" : "<", type.descr);
    std::string data(24 * type.bytes, '\0');
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<char>(i ^ i >> 4);  // no two elements alike
    const auto tensor = ReadNpy(File(Literal(descr, "(2, 3, 4)", true), data));
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(tensor->shape, (std::vector<int64_t>{2, 3, 4}));
    for (size_t i = 0; i < 2; ++i)
      for (size_t j = 0; j < 3; ++j)
        for (size_t k = 0; k < 4; ++k)
          EXPECT_EQ(Text(tensor->data)
                        .substr((12 * i + 4 * j + k) * type.bytes, type.bytes),
                    data.substr((i + 2 * j + 6 * k) * type.bytes, type.bytes))
              << descr;
  }
}

TEST(NpyTest, FortranOrderAndBigEndianTogether) {
  const auto tensor = ReadNpy(
      File(Literal(">u2", "(2, 2)", true), std::string("\0a\0b\0c\0d", 8)));
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(Text(tensor->data), std::string("a\0c\0b\0d\0", 8));
}

TEST(NpyTest, ScalarsAndEmptyArraysAreTensors) {
  const auto scalar = ReadNpy(File(Literal("<f4", "()", true), "abcd"));
  ASSERT_TRUE(scalar.ok()) << scalar.status();
  EXPECT_EQ(scalar->shape.size(), 0u);
  EXPECT_EQ(Text(scalar->data), "abcd");
  for (const bool fortran : {false, true}) {
    const auto empty = ReadNpy(File(Literal("<f4", "(3, 0, 5)", fortran), ""));
    ASSERT_TRUE(empty.ok()) << empty.status();
    EXPECT_EQ(empty->shape, (std::vector<int64_t>{3, 0, 5}));
    EXPECT_EQ(Text(empty->data), "");
  }
}

TEST(NpyTest, RawItemsNeedAType) {
  NpyReading bf16{pb::DATA_TYPE_BF16, {}};
  for (const char* descr : {"<V2", "|V2"}) {
    const std::string file = File(Literal(descr, "(2,)"), "abcd");
    EXPECT_TRUE(absl::StrContains(Message(file), "--dtype=BF16"));
    const auto tensor = ReadNpy(file, bf16);
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(tensor->data_type, pb::DATA_TYPE_BF16);
  }
  // NumPy writes raw items in no order, so one is a sign of something else.
  EXPECT_FALSE(ReadNpy(File(Literal(">V2", "(2,)"), "abcd"), bf16).ok());
  EXPECT_TRUE(
      absl::StrContains(Message(File(Literal("<f4", "(2,)"), "abcdefgh"), bf16),
                        "items must have the 2 bytes of BF16"));
}

TEST(NpyTest, BytesMayBeReadAsTypesThatNumpyLacks) {
  const std::string file = File(Literal("|u1", "(3,)"), "abc");
  const auto tensor =
      ReadNpy(file, {pb::DATA_TYPE_U4, std::vector<int64_t>{2, 3}});
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->data_type, pb::DATA_TYPE_U4);
  EXPECT_EQ(tensor->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(Text(tensor->data), "abc");
  EXPECT_TRUE(absl::StrContains(Message(file, {pb::DATA_TYPE_U4, {}}),
                                "the shape given"));
  EXPECT_FALSE(ReadNpy(File(Literal("<u2", "(1,)"), "ab"),
                       {pb::DATA_TYPE_U4, std::vector<int64_t>{4}})
                   .ok());
}

TEST(NpyTest, WhatIsWrittenIsReadBack) {
  for (int number = 1; number <= pb::DATA_TYPE_STRING; ++number) {
    Tensor tensor;
    tensor.data_type = static_cast<pb::DataType>(number);
    const NpyType* const type = FindNpyType(tensor.data_type);
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{}, {7}, {2, 0}, {2, 3, 4}}) {
      tensor.shape = shape;
      const int64_t bytes = DataBytes(tensor).value_or(5);
      const std::string data(static_cast<size_t>(bytes), 'x');
      tensor.data = Bytes::Own(data);
      const auto header = NpyHeaderOf(tensor);
      ASSERT_TRUE(header.ok()) << header.status();
      EXPECT_EQ(header->size() % 64, 0u);
      EXPECT_EQ(header->back(), '\n');
      const auto back = ReadNpy(*header + data, {tensor.data_type, shape});
      ASSERT_TRUE(back.ok()) << back.status();
      EXPECT_EQ(back->data_type, tensor.data_type);
      EXPECT_EQ(back->shape, shape);
      EXPECT_EQ(Text(back->data), data);
      EXPECT_EQ(ParseNpyHeader(*header)->shape,
                type ? shape : std::vector<int64_t>{bytes});
    }
  }
}

TEST(NpyTest, OtherLayoutsAreReadAndWrittenAsTheyLie) {
  struct Case {
    pb::Layout layout;
    const char* stored;
    std::vector<int64_t> logical;
    size_t bytes;
  };
  const Case cases[] = {
      {pb::LAYOUT_NCX, "(2, 3, 4)", {2, 3, 4}, 24},
      {pb::LAYOUT_NXC, "(2, 5, 4, 3)", {2, 3, 5, 4}, 120},
      {pb::LAYOUT_NXC, "(2, 3)", {2, 3}, 6},
      {pb::LAYOUT_NCX4C, "(2, 3, 5, 4)", {2, 12, 5}, 120},
      {pb::LAYOUT_NCX16C, "(2, 1, 16)", {2, 16}, 32},
  };
  for (const Case& c : cases) {
    const std::string data = Counting(c.bytes);
    NpyReading reading;
    reading.layout = c.layout;
    const auto tensor = ReadNpy(File(Literal("|u1", c.stored), data), reading);
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(tensor->shape, c.logical);
    EXPECT_EQ(*DataBytes(*tensor), static_cast<int64_t>(c.bytes));
    EXPECT_EQ(*NpyHeaderOf(*tensor),
              *FormatNpyHeader(
                  "|u1",
                  ParseNpyHeader(File(Literal("|u1", c.stored), data))->shape));
  }
  // A block that is not full; what is no layout of the file.
  NpyReading reading;
  reading.layout = pb::LAYOUT_NCX8C;
  reading.shape = {{2, 5, 3}};
  const auto padded =
      ReadNpy(File(Literal("|u1", "(2, 1, 3, 8)"), Counting(48)), reading);
  ASSERT_TRUE(padded.ok());
  EXPECT_EQ(padded->shape, *reading.shape);
  EXPECT_EQ(ParseNpyHeader(*NpyHeaderOf(*padded))->shape,
            (std::vector<int64_t>{2, 1, 3, 8}));
  reading.shape.reset();
  for (const char* stored : {"(48,)", "(6, 8)", "(2, 6, 4)"})
    EXPECT_FALSE(
        ReadNpy(File(Literal("|u1", stored), Counting(48)), reading).ok());
}

TEST(NpyTest, WrongTensorsAreNotWritten) {
  Tensor tensor = MakeTensor<float>({2}, {1, 2});
  EXPECT_TRUE(NpyHeaderOf(tensor).ok());
  tensor.layout = pb::LAYOUT_NXC;
  EXPECT_FALSE(NpyHeaderOf(tensor).ok());
  tensor.layout = pb::LAYOUT_NCX;
  EXPECT_TRUE(NpyHeaderOf(tensor).ok());
  tensor.shape = {-2};
  EXPECT_FALSE(NpyHeaderOf(tensor).ok());
  tensor = Tensor();
  EXPECT_FALSE(NpyHeaderOf(tensor).ok());
}

}  // namespace
}  // namespace axis
