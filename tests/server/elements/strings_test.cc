// STRING elements: what is no list of strings is refused, whatever its pieces;
// and what is gathered is what was found, in the order of the places.
#include "server/elements/strings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/status.h"
#include "tests/server/wire_oracle.h"

namespace axis {
namespace {

std::string Packed(const std::vector<std::string>& strings) {
  std::string packed;
  for (const std::string& string : strings) {
    const uint32_t length = static_cast<uint32_t>(string.size());
    packed.append(reinterpret_cast<const char*>(&length), sizeof length);
    packed += string;
  }
  return packed;
}

// `bytes` in pieces of at most `most`, as a message may bring them.
Payload InPieces(const std::string& bytes, size_t most) {
  Payload payload;
  for (size_t i = 0; i < bytes.size(); i += most)
    payload.Append(grpc::Slice(bytes.substr(i, most)));
  return payload;
}

class StringsTest : public testing::Test {
 protected:
  // The places of `packed`, which is left in one piece.
  absl::StatusOr<Payload> Find(Payload& packed, int64_t elements) {
    Admission::Lease lease(admission_);
    absl::StatusOr<Payload> places =
        FindStrings(packed, elements, lease, *pool_);
    taken_ = admission_.held_bytes();
    return places;
  }
  std::string FieldOfFind(const std::string& packed, int64_t elements) {
    Payload payload = InPieces(packed, 3);
    return FieldOf(Find(payload, elements).status());
  }

  Admission admission_{1 << 20};
  int64_t taken_ = 0;
  const std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>(0);
};

TEST_F(StringsTest, GathersWhatItFoundInAnyOrderFromAnyPieces) {
  std::mt19937 rng(1);
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<std::string> strings(rng() % 20);
    for (std::string& string : strings) {
      string.resize(rng() % 3 == 0 ? 0 : rng() % 40);
      for (char& c : string) c = static_cast<char>(rng());
    }
    const int64_t count = static_cast<int64_t>(strings.size());
    Payload packed = InPieces(Packed(strings), 1 + rng() % 50);
    const absl::StatusOr<Payload> places = Find(packed, count);
    ASSERT_TRUE(places.ok()) << places.status();
    ASSERT_EQ(Bytes(packed), Packed(strings));
    ASSERT_EQ(places->size(), count * kPlaceBits / 8);
    std::vector<size_t> order(strings.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), rng);
    std::string moved;
    std::vector<std::string> expected;
    for (const size_t i : order) {
      moved += Bytes(places->Sub(static_cast<int64_t>(i) * 8, 8));
      expected.push_back(strings[i]);
    }
    ASSERT_EQ(Bytes(GatherStrings(packed, Payload(grpc::Slice(moved)), *pool_)),
              Packed(expected));
  }
}

TEST_F(StringsTest, WhatLiesInOrderIsShared) {
  Payload packed = InPieces(Packed({"abc", "", "de", "f"}), 100);
  const absl::StatusOr<Payload> places = Find(packed, 4);
  const Payload middle = GatherStrings(packed, places->Sub(8, 16), *pool_);
  EXPECT_EQ(Bytes(middle), Packed({"", "de"}));
  const std::string large(1000, 'x');
  Payload whole = InPieces(Packed({large, large}), 10000);
  const absl::StatusOr<Payload> found = Find(whole, 2);
  const Payload second = GatherStrings(whole, found->Sub(8, 8), *pool_);
  EXPECT_EQ(second.slices()[0].begin(), whole.slices()[0].begin() + 1004);
}

TEST_F(StringsTest, RefusesWhatIsNoListOfSoManyStrings) {
  const std::string two = Packed({"ab", "c"});
  EXPECT_EQ(FieldOfFind(two, 2), "");
  EXPECT_EQ(FieldOfFind(two, 1), "data");
  EXPECT_EQ(FieldOfFind(two, 3), "data");
  EXPECT_EQ(FieldOfFind(two, 0), "data");
  EXPECT_EQ(FieldOfFind("", 0), "");
  EXPECT_EQ(FieldOfFind("", 1), "data");
  for (size_t n = 0; n < two.size(); ++n)
    EXPECT_EQ(FieldOfFind(two.substr(0, n), 2), "data") << n;
  EXPECT_EQ(FieldOfFind(two + '\0', 2), "data");
  EXPECT_EQ(FieldOfFind(std::string("\xff\xff\xff\xff", 4) + "a", 1), "data");
  EXPECT_EQ(FieldOfFind(std::string("\xfc\xff\xff\xff", 4) + two, 1), "data");
  EXPECT_EQ(FieldOfFind(two, INT64_MAX / 4), "data");
  EXPECT_EQ(FieldOfFind(two, INT64_MAX), "data");
}

TEST_F(StringsTest, SaysWhichStringIsWrongAndHow) {
  const auto why = [&](std::string packed, int64_t elements) {
    Payload payload = InPieces(packed, 3);
    return std::string(Find(payload, elements).status().message());
  };
  const std::string three = Packed({"ab", "c", "d"});
  EXPECT_EQ(why(std::string("\x64\0\0\0", 4) + three.substr(4), 3),
            "string 0 says that it has 100 bytes, but only 12 are left");
  EXPECT_EQ(why(three.substr(0, 13), 3),
            "ends within the length of string 2 of 3");
  EXPECT_EQ(why(three + "e", 3),
            "must end with string 3, at byte 16; holds 17");
  EXPECT_EQ(why("abc", 2),
            "must hold 2 strings, a 4-byte length and the bytes each; "
            "holds 3 bytes, too few for so many");
}

TEST_F(StringsTest, TakesMemoryForPlacesAndOutputsFirst) {
  Payload one = InPieces(Packed({"abc", "de"}), 100);
  ASSERT_TRUE(Find(one, 2).ok());
  EXPECT_EQ(taken_, 2 * 8 + 13);
  Payload pieces = InPieces(Packed({"abc", "de"}), 5);
  ASSERT_TRUE(Find(pieces, 2).ok());
  EXPECT_EQ(taken_, 2 * 8 + 2 * 13);
  Payload many = InPieces(std::string(4 << 17, '\0'), 1 << 20);
  EXPECT_EQ(Find(many, 1 << 17).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace axis
