// Claims of Conversation: what a client asks for is counted as HTTP/2 has it,
// in pieces of any size; it is let go on as long as it asks for no more than
// may be, and nothing is heard of it after that.
#include "server/connections/conversation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "server/connections/frames.h"

namespace axis {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr uint8_t kEndStream = 1, kAck = 1, kEndHeaders = 4;
constexpr size_t kBlock = 20;  // bytes of a header block

std::span<const uint8_t> Bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string MakeFrame(uint8_t type, uint8_t flags, uint32_t stream,
                      size_t size = 0) {
  std::string frame;
  for (const int shift : {16, 8, 0})
    frame += static_cast<char>(size >> shift & 0xFF);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0})
    frame += static_cast<char>(stream >> shift & 0xFF);
  // As the head of a HEADERS frame would begin, for those who get lost.
  return frame + std::string(size, '\1');
}

std::string Headers(uint32_t stream, uint8_t flags = 0) {
  return MakeFrame(Frame::kHeaders, flags | kEndHeaders, stream, kBlock);
}
std::string Reset(uint32_t stream) {
  return MakeFrame(Frame::kRstStream, 0, stream, 4);
}

// The nth stream that a client opens, from 0.
uint32_t Nth(int n) { return static_cast<uint32_t>(2 * n + 1); }

// A client that has introduced itself, and hears of what it says.
class Client {
 public:
  explicit Client(std::string_view first = kPreface) {
    EXPECT_TRUE(Say(first));
  }

  bool Say(std::string_view bytes) { return talk_.Hear(Bytes(bytes)); }
  void Hear(std::string_view bytes) { talk_.Say(Bytes(bytes)); }

  // Opens streams, `most` at most: how many it may.
  int CountOpen(int most = 1 << 20) {
    int count = 0;
    while (count < most && Say(Headers(Nth(next_++)))) ++count;
    return count;
  }

  static Conversation::Clock::time_point Now() { return now; }
  static inline Conversation::Clock::time_point now;

 private:
  Conversation talk_{Now};
  int next_ = 0;
};

class ConversationTest : public testing::Test {
 protected:
  ConversationTest() { LimitStreams(int64_t{1} << 40); }
};

TEST_F(ConversationTest, OpenStreamsAreLimited) {
  const int64_t before = HungUpConnections();
  Client client;
  EXPECT_EQ(client.CountOpen(), 2 * kMaxStreams);
  EXPECT_EQ(HungUpConnections(), before + 1);
  EXPECT_FALSE(client.Say(MakeFrame(Frame::kData, 0, 1, 5)));
  EXPECT_EQ(HungUpConnections(), before + 1) << "once";
}

TEST_F(ConversationTest, TrailersOpenNothing) {
  LimitStreams(StreamBytes(kBlock));
  Client client;
  for (int i = 0; i < 10 * kMaxStreams; ++i)
    ASSERT_TRUE(client.Say(Headers(1, kEndStream)));
}

TEST_F(ConversationTest, WhatTheServerEndsIsClosed) {
  Client client;
  for (int i = 0; i < 10 * kMaxStreams; ++i) {
    ASSERT_TRUE(client.Say(Headers(Nth(i)) +
                           MakeFrame(Frame::kData, kEndStream, Nth(i), 3)));
    client.Hear(Headers(Nth(i)) + MakeFrame(Frame::kData, 0, Nth(i), 100));
    client.Hear(i % 3 == 0   ? Headers(Nth(i), kEndStream)
                : i % 3 == 1 ? Reset(Nth(i))
                             : MakeFrame(Frame::kData, kEndStream, Nth(i)));
  }
}

TEST_F(ConversationTest, WhatTheClientEndsIsNotClosedUntilItIsAnswered) {
  Client client;
  int count = 0;
  while (client.Say(Headers(Nth(count), kEndStream))) ++count;
  EXPECT_EQ(count, 2 * kMaxStreams);
}

TEST_F(ConversationTest, AStreamIsClosedOnce) {
  LimitStreams(10 * StreamBytes(kBlock));
  Client client, other;
  ASSERT_TRUE(client.Say(Headers(1)));
  for (int i = 0; i < 100; ++i) {
    client.Hear(Headers(1, kEndStream) + Reset(1));
    ASSERT_TRUE(client.Say(Reset(1) + Reset(77)));
  }
  EXPECT_EQ(other.CountOpen(), 10);
}

TEST_F(ConversationTest, ResetsAreLimitedForAWhile) {
  Client client;
  int n = 0;
  const auto reset = [&] {
    const bool may = client.Say(Headers(Nth(n)) + Reset(Nth(n)));
    ++n;
    return may;
  };
  for (int i = 0; i < 2 * kMaxStreams; ++i) ASSERT_TRUE(reset()) << i;
  Client::now += std::chrono::milliseconds(100);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(reset()) << i;
  Client::now += std::chrono::hours(1);
  for (int i = 0; i < 2 * kMaxStreams; ++i) ASSERT_TRUE(reset()) << i;
  EXPECT_FALSE(reset());
}

TEST_F(ConversationTest, AcknowledgementsThatAreOwedAreLimited) {
  for (const auto type : {Frame::kSettings, Frame::kPing}) {
    Client client;
    for (int i = 0; i < 10000; ++i) {
      ASSERT_TRUE(client.Say(MakeFrame(type, 0, 0, 8)));
      client.Hear(MakeFrame(type, kAck, 0, 8));
      client.Hear(MakeFrame(type, 0, 0, 8));
      ASSERT_TRUE(client.Say(MakeFrame(type, kAck, 0, 8)));
    }
    for (int i = 0; i < 1000; ++i)
      ASSERT_TRUE(client.Say(MakeFrame(type, 0, 0, 8)));
    EXPECT_FALSE(client.Say(MakeFrame(type, 0, 0, 8)));
  }
}

TEST_F(ConversationTest, HeaderBlocksAreLimitedHoweverTheyAreCut) {
  constexpr size_t kMost = 64 << 10;
  for (const size_t part : {size_t{0}, size_t{1}, size_t{1000}, kMost / 2}) {
    Client client;
    for (uint32_t stream = 1; stream < 10; stream += 2) {
      ASSERT_TRUE(client.Say(MakeFrame(Frame::kHeaders, 0, stream, part)));
      for (size_t size = 2 * (part + 9); size <= kMost; size += part + 9)
        ASSERT_TRUE(
            client.Say(MakeFrame(Frame::kContinuation, 0, stream, part)));
    }
    EXPECT_FALSE(client.Say(MakeFrame(Frame::kContinuation, 0, 9, part)));
  }
  EXPECT_TRUE(Client().Say(MakeFrame(Frame::kHeaders, 0, 1, kMost - 9)));
  EXPECT_FALSE(Client().Say(MakeFrame(Frame::kHeaders, 0, 1, kMost - 8)));
}

TEST_F(ConversationTest, AllClientsShareWhatMayBeOpen) {
  LimitStreams(100 * StreamBytes(kBlock));
  EXPECT_EQ(Client().CountOpen(), 100);
  Client tls("\x16\x03\x01"), first;
  ASSERT_EQ(first.CountOpen(60), 60);
  EXPECT_EQ(Client().CountOpen(), 50) << "half, as there are two";
  EXPECT_EQ(first.CountOpen(40), 40) << "those of who has left are not open";
  // Nor are those that are closed: it has 40, and then half.
  for (int n = 0; n < 60; ++n) first.Hear(Reset(Nth(n)));
  Client second;
  ASSERT_EQ(second.CountOpen(60), 60);
  EXPECT_EQ(first.CountOpen(), 10);
}

TEST_F(ConversationTest, LargeHeadersTakeMore) {
  EXPECT_GT(StreamBytes(100), StreamBytes(kBlock));
  EXPECT_LE(StreamBytes(1 << 30), 38 << 10);
  LimitStreams(10 * StreamBytes(1000));
  const auto count = [](uint8_t flags, size_t block) {
    Client client;
    int n = 0;
    while (client.Say(MakeFrame(Frame::kHeaders, flags, Nth(n), block))) ++n;
    return n;
  };
  EXPECT_EQ(count(kEndHeaders, 1000), 10);
  EXPECT_EQ(count(0, kBlock), 10) << "more of it may come";
  EXPECT_GT(count(kEndHeaders, kBlock), 20);
}

TEST_F(ConversationTest, WhatIsNotHttp2IsNotHeard) {
  for (const std::string_view first : {"\x16\x03\x01", "GET / HTTP/1.1\r\n"}) {
    Client client(first);
    EXPECT_EQ(client.CountOpen(10 * kMaxStreams), 10 * kMaxStreams);
  }
}

TEST_F(ConversationTest, ItDoesNotMatterHowBytesAreCut) {
  std::string asked(kPreface), said;
  for (int i = 0; i < kMaxStreams; ++i) {
    const auto size = static_cast<size_t>(i % 50 * i % 90);
    asked += Headers(Nth(i)) + MakeFrame(Frame::kData, 0, Nth(i), size) +
             MakeFrame(Frame::kPing, kAck, 0, 8);
    said += MakeFrame(Frame::kSettings, 0, 0, size) + Headers(Nth(i)) +
            (i % 2 == 0 ? Headers(Nth(i), kEndStream) : "");
  }
  // Half of them are ended.
  constexpr int kLeft = kMaxStreams / 2;
  ASSERT_LT(said.size(), asked.size());
  for (const size_t part : {size_t{1}, size_t{2}, size_t{7}, size_t{9},
                            size_t{10}, size_t{1000}, asked.size()}) {
    Client client("P");
    size_t heard = 0;
    for (size_t at = 1; at < asked.size(); at += part) {
      ASSERT_TRUE(client.Say(std::string_view(asked).substr(at, part))) << part;
      // The server answers what it has heard of.
      const size_t until = at * said.size() / asked.size();
      if (until > heard)
        client.Hear(std::string_view(said).substr(heard, until - heard));
      heard = std::max(heard, until);
    }
    client.Hear(std::string_view(said).substr(heard));
    int more = 0;
    while (client.Say(Headers(Nth(kMaxStreams + more)))) ++more;
    EXPECT_EQ(more, 2 * kMaxStreams - kLeft) << part;
  }
}

}  // namespace
}  // namespace axis
