// Claims of the .npy reader about headers: any spelling that Python reads is
// read, all else is refused by name, and none takes long or crashes it.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/npy/npy.h"
#include "tests/client/npy/npy_file.h"

namespace axis {
namespace {

TEST(NpyHeaderTest, HeadersMayBeSpelledInAnyWayThatPythonReads) {
  for (const char* literal :
       {"{\"shape\":(2,),\"descr\":\"|u1\",\"fortran_order\":False}",
        "{ 'fortran_order' : False , 'shape' : ( 2 , ) , 'descr' : '|u1' , }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2L,)}\n"})
    EXPECT_TRUE(ReadNpy(File(literal, "ab")).ok())
        << literal << ": " << Message(File(literal, "ab"));
}

TEST(NpyHeaderTest, BadHeadersAreRefused) {
  for (const char* literal :
       {"", "{", "}", "{}", "[]", "{'descr': '|u1'}",
        "{'descr': '|u1', 'fortran_order': 0, 'shape': (2,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), 'x': 1}",
        "{'descr': '|u1', 'shape': (), 'fortran_order': False, 'shape': ()}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)} ()",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2 3)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (,)}",
        "{'descr':'|u1','fortran_order':False,'shape':(99999999999999999999,)}",
        "{'descr': '|u1' 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '|u1, 'fortran_order': False, 'shape': (2,)}"})
    EXPECT_FALSE(ReadNpy(File(literal, "ab")).ok()) << literal;
  EXPECT_FALSE(ReadNpy("PK\x03\x04 a zip file, as of np.savez").ok());
}

TEST(NpyHeaderTest, TypesThatNoTensorHasAreRefusedByName) {
  for (const char* descr :
       {"|O", "<U5", "|S3", "<M8[ns]", "<m8", "<f16", "|V3", "|V16", ">V2",
        "<c32", "<i3", "u", "", "<f4junk", "|u2"}) {
    const std::string message = Message(File(Literal(descr, "(0,)"), ""));
    EXPECT_TRUE(absl::StrContains(message, absl::StrCat("'", descr, "'")))
        << message;
  }
  const std::string message = Message(
      File("{'descr': [('\xc3\xa4', '<f4'), ('b', '<i4')], 'fortran_order': "
           "False, 'shape': (0,)}",
           "", 3));
  EXPECT_TRUE(absl::StrContains(message, "descr '[(")) << message;
  EXPECT_TRUE(absl::StrContains(message, "structured")) << message;
}

TEST(NpyHeaderTest, SizesThatOverflowAreRefused) {
  for (const char* shape :
       {"(9223372036854775807, 2)", "(4294967296, 4294967296, 4294967296)",
        "(9223372036854775807, 9223372036854775807, 0)",
        "(2305843009213693952,)"})
    EXPECT_TRUE(
        absl::StrContains(Message(File(Literal("<f4", shape), "")), "63 bits"))
        << shape;
  std::string axes = "(";
  for (int i = 0; i < 64; ++i) absl::StrAppend(&axes, "1,");
  EXPECT_TRUE(ReadNpy(File(Literal("|u1", axes + ")"), "a")).ok());
  EXPECT_FALSE(ReadNpy(File(Literal("|u1", axes + "1)"), "a")).ok());
}

TEST(NpyHeaderTest, HeadersAreBounded) {
  std::string literal = Literal("|u1", "(2,)");
  literal.append(kMaxNpyHeaderBytes - 12 - literal.size(), ' ');
  EXPECT_TRUE(ReadNpy(File(literal, "ab", 2)).ok());
  literal += ' ';
  EXPECT_TRUE(absl::StrContains(Message(File(literal, "ab", 2)),
                                "at most 65524 bytes, has 65525"));
  EXPECT_TRUE(absl::StrContains(
      Message(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)),
      "has 4294967295"));
}

TEST(NpyHeaderTest, EveryTruncationAndEveryExtraByteIsRefused) {
  for (const int major : {1, 2, 3}) {
    const std::string file =
        File(Literal("<f4", "(2, 2)"), Counting(16), major);
    ASSERT_TRUE(ReadNpy(file).ok());
    for (size_t size = 0; size < file.size(); ++size)
      EXPECT_FALSE(ReadNpy(file.substr(0, size)).ok()) << size;
    EXPECT_TRUE(
        absl::StrContains(Message(file + "x"), "must hold the 16 bytes"))
        << Message(file + "x");
  }
}

TEST(NpyHeaderTest, NoByteOfAHeaderCanCrashTheReader) {
  const std::string file = File(Literal("<f4", "(2, 2)", true), Counting(16));
  for (size_t at = 0; at + 16 < file.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string bad = file;
      bad[at] = static_cast<char>(value);
      const auto tensor = ReadNpy(bad);
      EXPECT_TRUE(!tensor.ok() || tensor->data.size() == 16) << at;
    }
  }
}

}  // namespace
}  // namespace axis
