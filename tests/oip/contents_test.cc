// Claims of server/oip/message/contents.h: what is read of typed contents, well
// or ill formed, and which field is blamed.
#include "server/oip/message/contents.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "kernels/status.h"
#include "tests/oip/random_contents.h"
#include "tests/server/wire_oracle.h"

namespace axis {
namespace {

class ContentsTest : public testing::Test {
 protected:
  absl::StatusOr<Payload> Read(const std::string& bytes, pb::DataType type,
                               int64_t elements) {
    Payload payload;
    for (size_t i = 0; i < bytes.size(); i += 3)
      payload.Append(grpc::Slice(bytes.substr(i, 3)));
    return PackContents(payload, type, elements, lease_, *pool_);
  }
  std::string FieldOfRead(const Contents& contents, pb::DataType type,
                          int64_t elements) {
    return FieldOf(Read(contents.SerializeAsString(), type, elements).status());
  }

  Admission admission_{int64_t{1} << 30};
  Admission::Lease lease_{admission_};
  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>(0);
};

TEST_F(ContentsTest, PackedAndNotAreTheSame) {
  const std::string packed = Sized(2, Varint(1) + Varint(~uint64_t{0}, 10));
  const std::string loose = Number(2, 1) + Number(2, ~uint64_t{0});
  for (const std::string& bytes : {packed, loose}) {
    const auto data = Read(bytes, pb::DATA_TYPE_I16, 2);
    ASSERT_TRUE(data.ok()) << data.status();
    EXPECT_EQ(Bytes(*data), std::string("\1\0\xFF\xFF", 4));
  }
  const auto floats =
      Read(Sized(6, "aaaabbbb") + Tag(6, 5) + "cccc", pb::DATA_TYPE_F32, 3);
  ASSERT_TRUE(floats.ok());
  EXPECT_EQ(Bytes(*floats), "aaaabbbbcccc");
}

TEST_F(ContentsTest, NumbersMustFit) {
  Contents ints, uints;
  ints.add_int_contents(-128);
  EXPECT_EQ(FieldOfRead(ints, pb::DATA_TYPE_I8, 1), "");
  ints.set_int_contents(0, -129);
  EXPECT_EQ(FieldOfRead(ints, pb::DATA_TYPE_I8, 1), "contents.int_contents[0]");
  EXPECT_EQ(FieldOfRead(ints, pb::DATA_TYPE_I32, 1), "");
  uints.add_uint_contents(65535);
  EXPECT_EQ(FieldOfRead(uints, pb::DATA_TYPE_U16, 1), "");
  uints.set_uint_contents(0, 65536);
  EXPECT_EQ(FieldOfRead(uints, pb::DATA_TYPE_U16, 1),
            "contents.uint_contents[0]");
}

TEST_F(ContentsTest, TheListAndTheCountMustFit) {
  Contents contents;
  contents.add_fp32_contents(1);
  EXPECT_EQ(FieldOfRead(contents, pb::DATA_TYPE_F32, 1), "");
  EXPECT_EQ(FieldOfRead(contents, pb::DATA_TYPE_F32, 0), "contents");
  EXPECT_EQ(FieldOfRead(contents, pb::DATA_TYPE_F32, 2), "contents");
  EXPECT_EQ(FieldOfRead(contents, pb::DATA_TYPE_F32, int64_t{1} << 60),
            "contents");
  EXPECT_EQ(FieldOfRead(contents, pb::DATA_TYPE_F64, 1), "contents");
  EXPECT_EQ(FieldOfRead(contents, pb::DATA_TYPE_F16, 1), "contents");
  contents.add_bytes_contents("");
  EXPECT_EQ(FieldOfRead(contents, pb::DATA_TYPE_F32, 1), "contents");
}

TEST_F(ContentsTest, RandomBytesAreReadOrRefused) {
  Rng rng(7);
  int read = 0;
  for (int i = 0; i < 30000; ++i) {
    std::string bytes = RandomContents(rng).SerializeAsString();
    for (int64_t k = Pick(rng, 2); k > 0; --k) Mutate(bytes, rng);
    const auto type = static_cast<pb::DataType>(1 + Pick(rng, 27));
    const auto data = Read(bytes, type, Pick(rng, 4));
    Contents parsed;
    if (!data.ok()) continue;
    ++read;
    EXPECT_TRUE(parsed.ParseFromString(bytes));
  }
  EXPECT_GT(read, 500);
}

}  // namespace
}  // namespace axis
