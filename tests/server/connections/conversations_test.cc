// Claims of conversations: what passes through recvmsg() and sendmsg() of a
// connection is heard and said, those bytes and no others; who asks for too
// much seems to have reset it, until the socket is another connection.
#include "server/connections/conversations.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/connections/conversation.h"

namespace axis {
namespace {

using namespace std::string_literals;

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// HEADERS without a block, of the nth stream from 0: END_HEADERS and `flags`.
std::string Headers(int n, char flags = 0) {
  const int stream = 2 * n + 1;
  return "\0\0\0\1"s + static_cast<char>(4 | flags) + "\0\0"s +
         static_cast<char>(stream >> 8) + static_cast<char>(stream);
}

// Both ends of a connection, of which ours converses.
class ConversationsTest : public testing::Test {
 protected:
  ConversationsTest() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0);
    BeginConversation(ours());
    while (memory_.size() < 64 * 1000) memory_ += Headers(1000);
  }
  ~ConversationsTest() override {
    EndConversation(ours());
    close(ours());
    close(theirs());
  }

  int ours() const { return ends_[0]; }
  int theirs() const { return ends_[1]; }

  void Ask(std::string_view bytes) const {
    ASSERT_EQ(write(theirs(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }

  // Reads into pieces of `piece` bytes, as often as it takes; false if it
  // cannot.
  bool Hear(size_t bytes, size_t piece) {
    std::vector<iovec> pieces;
    for (size_t at = 0; at + piece <= memory_.size() && pieces.size() < 64;
         at += piece)
      pieces.push_back({memory_.data() + at, piece});
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    while (bytes > 0) {
      const ssize_t got = recvmsg(ours(), &message, 0);
      if (got <= 0) return false;
      bytes -= static_cast<size_t>(got);
    }
    return true;
  }

  // Sends in pieces of `piece` bytes.
  void Answer(std::string bytes, size_t piece) const {
    for (size_t at = 0; at < bytes.size();) {
      std::vector<iovec> pieces;
      for (size_t i = at; i < bytes.size() && pieces.size() < 64; i += piece)
        pieces.push_back({bytes.data() + i, std::min(piece, bytes.size() - i)});
      msghdr message{};
      message.msg_iov = pieces.data();
      message.msg_iovlen = pieces.size();
      const ssize_t sent = sendmsg(ours(), &message, 0);
      ASSERT_GT(sent, 0);
      at += static_cast<size_t>(sent);
      std::vector<char> read_by_client(static_cast<size_t>(sent));
      ASSERT_EQ(read(theirs(), read_by_client.data(), read_by_client.size()),
                sent);
    }
  }

  // Another client begins.
  void Introduce(size_t piece) {
    EndConversation(ours());
    BeginConversation(ours());
    Ask(kPreface);
    ASSERT_TRUE(Hear(kPreface.size(), piece));
  }

  // Asks for the nth streams from `begin` to `end`; whether all may be.
  bool AskFor(int begin, int end, size_t piece) {
    for (int n = begin; n < end; ++n) {
      Ask(Headers(n));
      if (!Hear(Headers(n).size(), piece)) return false;
    }
    return true;
  }

 private:
  std::array<int, 2> ends_{};
  std::string memory_;  // read into; what was there before must not be heard
};

TEST_F(ConversationsTest, WhoAsksForTooMuchSeemsToHaveReset) {
  for (const size_t piece : {1, 4, 9, 10, 1000}) {
    Introduce(piece);
    ASSERT_TRUE(AskFor(0, 2 * kMaxStreams, piece)) << piece;
    EXPECT_FALSE(AskFor(2 * kMaxStreams, 2 * kMaxStreams + 1, piece));
    EXPECT_EQ(errno, ECONNRESET);
    Ask("x");
    EXPECT_FALSE(Hear(1, piece));
    EXPECT_EQ(errno, ECONNRESET);
  }
}

TEST_F(ConversationsTest, WhatIsSentIsAnswered) {
  for (const size_t piece : {1, 4, 9, 10, 1000}) {
    Introduce(piece);
    ASSERT_TRUE(AskFor(0, kMaxStreams, piece));
    std::string answers;
    for (int n = 0; n < kMaxStreams; ++n) answers += Headers(n, /*flags=*/1);
    Answer(answers, piece);
    EXPECT_TRUE(AskFor(kMaxStreams, 3 * kMaxStreams, piece));
    EXPECT_FALSE(AskFor(3 * kMaxStreams, 3 * kMaxStreams + 1, piece));
  }
}

TEST_F(ConversationsTest, WithoutOneAllIsFine) {
  EndConversation(ours());
  Ask(kPreface);
  ASSERT_TRUE(Hear(kPreface.size(), 1000));
  EXPECT_TRUE(AskFor(0, 3 * kMaxStreams, 1000));
  for (const int socket : {-1, 1 << 20, 1 << 30}) {
    BeginConversation(socket);
    EndConversation(socket);
    EXPECT_TRUE(HearFrom(socket, {}, 0));
    SayTo(socket, {}, 0);
  }
}

}  // namespace
}  // namespace axis
