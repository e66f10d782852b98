// Claims of sockets: large answers to one that gRPC polls are sent in turns
// while others send as well, each of which ends as if the socket were full and
// begins with an event; nothing is lost or sent twice; all other sockets, and
// what is not large, are as ever. A reset is among what is left to read.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kTurn = 256 << 10;
constexpr size_t kLarge = 2 << 20;

// A connection whose other end reads all there is until Received().
class Connection {
 public:
  Connection() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0);
    reader_ = std::thread([this] {
      std::vector<char> part(1 << 20);
      for (;;) {
        const ssize_t bytes = read(ends_[1], part.data(), part.size());
        if (bytes <= 0) return;
        received_.append(part.data(), static_cast<size_t>(bytes));
        count_ = received_.size();
      }
    });
  }
  ~Connection() {
    Received();
    close(ends_[0]);
    close(ends_[1]);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int socket() const { return ends_[0]; }

  // After that, there is no more room than before.
  void Await(size_t bytes) const {
    while (count_ < bytes) std::this_thread::yield();
  }

  const std::string& Received() {
    if (reader_.joinable()) {
      shutdown(ends_[0], SHUT_WR);
      reader_.join();
    }
    return received_;
  }

 private:
  std::array<int, 2> ends_{};
  std::string received_;
  std::atomic<size_t> count_ = 0;
  std::thread reader_;
};

class SocketsTest : public testing::Test {
 protected:
  SocketsTest() {
    epoll_event event{.events = EPOLLOUT | EPOLLET, .data = {}};
    epoll_ctl(company_epoll_, EPOLL_CTL_ADD, company_.socket(), &event);
  }
  ~SocketsTest() override {
    close(epoll_);
    close(company_epoll_);
  }

  void Poll(int socket, uint32_t events) {
    epoll_event event{.events = events, .data = {.fd = socket}};
    ASSERT_EQ(epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event), 0);
    ASSERT_EQ(Events(), std::vector{socket});
  }

  // The sockets that there is room in now, and was none at the last call.
  std::vector<int> Events() {
    std::array<epoll_event, 8> events;
    const int count = epoll_wait(epoll_, events.data(), events.size(), 0);
    std::vector<int> sockets;
    for (int i = 0; i < count; ++i)
      if (events[static_cast<size_t>(i)].events & EPOLLOUT)
        sockets.push_back(events[static_cast<size_t>(i)].data.fd);
    return sockets;
  }

  // Offers `text` from `at` on, in pieces of `piece` bytes.
  static ssize_t Send(int socket, const std::string& text, size_t at,
                      size_t piece) {
    std::vector<iovec> pieces;
    for (; at < text.size(); at += piece)
      pieces.push_back({const_cast<char*>(text.data()) + at,
                        std::min(piece, text.size() - at)});
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    return sendmsg(socket, &message, MSG_NOSIGNAL);
  }

  // Another socket sends.
  void HaveCompany() { EXPECT_EQ(Send(company_.socket(), "x", 0, 1), 1); }

  static std::string Text(size_t bytes) {
    std::string text(bytes, '\0');
    for (size_t i = 0; i < bytes; ++i)
      text[i] = static_cast<char>(i * 2654435761u >> 13);
    return text;
  }

  const int epoll_ = epoll_create1(0);
  const int company_epoll_ = epoll_create1(0);
  Connection company_;
};

TEST_F(SocketsTest, LargeAnswersAreSentInTurns) {
  for (const size_t piece : {size_t{16389}, size_t{600'000}, size_t{1} << 30}) {
    Connection connection;
    const int socket = connection.socket();
    Poll(socket, EPOLLIN | EPOLLOUT | EPOLLET);
    const std::string text = Text(kLarge + 5);
    for (size_t at = 0; at < text.size();) {
      const size_t turn = std::min(kTurn, text.size() - at);
      HaveCompany();
      ASSERT_EQ(Send(socket, text, at, piece), static_cast<ssize_t>(turn));
      at += turn;
      if (at == text.size()) break;
      connection.Await(at);
      Events();
      ASSERT_EQ(Events(), std::vector<int>{});
      ASSERT_EQ(Send(socket, text, at, piece), -1);
      ASSERT_EQ(errno, EAGAIN);
      ASSERT_EQ(Events(), std::vector{socket}) << "nobody would go on";
      ASSERT_EQ(Events(), std::vector<int>{});
    }
    const std::string next = text.substr(0, kLarge);
    HaveCompany();
    ASSERT_EQ(Send(socket, next, 0, piece), static_cast<ssize_t>(kLarge));
    EXPECT_EQ(connection.Received(), text + next);
  }
}

TEST_F(SocketsTest, TurnsOfManyPiecesAreShorter) {
  Connection connection;
  const int socket = connection.socket();
  Poll(socket, EPOLLOUT | EPOLLET);
  const std::string text = Text(kLarge + 1);
  const ssize_t turn = 64 * 3000;
  HaveCompany();
  EXPECT_EQ(Send(socket, text, 0, 3000), turn);
  EXPECT_EQ(Send(socket, text, turn, 3000), -1);
  EXPECT_EQ(Send(socket, text, turn, 3000), turn);
  EXPECT_EQ(connection.Received(), text.substr(0, 2 * turn));
}

TEST_F(SocketsTest, WhatIsNotLargeIsSentAtOnce) {
  Connection connection;
  const int socket = connection.socket();
  Poll(socket, EPOLLOUT | EPOLLET);
  const std::string text = Text(kLarge);
  for (int i = 0; i < 10; ++i) {
    HaveCompany();
    ASSERT_EQ(Send(socket, text, 0, 1 << 30), static_cast<ssize_t>(kLarge));
  }
  EXPECT_EQ(connection.Received().size(), 10 * kLarge);
}

TEST_F(SocketsTest, WhoIsAloneSendsAllAtOnce) {
  Connection connection;
  const int socket = connection.socket();
  Poll(socket, EPOLLOUT | EPOLLET);
  const std::string text = Text(kLarge + 1);
  const auto all = static_cast<ssize_t>(text.size());
  HaveCompany();
  ASSERT_EQ(Send(socket, text, 0, 1 << 30), static_cast<ssize_t>(kTurn));
  ASSERT_EQ(Send(socket, text, 0, 1 << 30), -1);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(Send(socket, text, 0, 1 << 30), all);
  EXPECT_EQ(Send(socket, text, 0, 1 << 30), all);
}

TEST_F(SocketsTest, WhoeverElseSendsSendsAllAtOnce) {
  const std::string text = Text(kLarge + 1);
  const auto all = static_cast<ssize_t>(text.size());
  Connection not_polled;
  // A number that no other test has polled by.
  const int socket = dup2(not_polled.socket(), 300);
  HaveCompany();
  EXPECT_EQ(Send(socket, text, 0, 1 << 30), all);
  close(socket);
  {
    Connection level;
    Poll(level.socket(), EPOLLOUT);
    HaveCompany();
    EXPECT_EQ(Send(level.socket(), text, 0, 1 << 30), all);
  }
  Connection no_more;
  Poll(no_more.socket(), EPOLLOUT | EPOLLET);
  ASSERT_EQ(epoll_ctl(epoll_, EPOLL_CTL_DEL, no_more.socket(), nullptr), 0);
  HaveCompany();
  EXPECT_EQ(Send(no_more.socket(), text, 0, 1 << 30), all);
}

// Closed, a socket is no longer polled, which nobody is told.
TEST_F(SocketsTest, SocketsThatComeAfterPolledOnesDoNotWaitForEvents) {
  int before;
  {
    Connection polled;
    before = polled.socket();
    Poll(before, EPOLLOUT | EPOLLET);
  }
  Connection connection;
  ASSERT_EQ(connection.socket(), before);
  const std::string text = Text(kLarge + 1);
  for (size_t at = 0; at < text.size();) {
    HaveCompany();
    const ssize_t sent = Send(before, text, at, 1 << 30);
    ASSERT_GT(sent, 0);
    at += static_cast<size_t>(sent);
  }
  EXPECT_EQ(connection.Received(), text);
}

// Two ends of a TCP connection; reads of the second tell how much is left.
std::array<int, 2> Connected() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  EXPECT_EQ(bind(listener, address, size) | listen(listener, 1), 0);
  EXPECT_EQ(getsockname(listener, address, &size), 0);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(connect(client, address, size), 0);
  const int server = accept(listener, nullptr, nullptr);
  close(listener);
  const int on = 1;
  EXPECT_EQ(setsockopt(server, IPPROTO_TCP, TCP_INQ, &on, sizeof on), 0);
  return {client, server};
}

// Reads `bytes`; returns how many are said to be left, or minus the error.
int ReadAndAsk(int socket, size_t bytes) {
  std::vector<char> read(bytes);
  iovec into{read.data(), bytes};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> said{};
  msghdr message{};
  message.msg_iov = &into;
  message.msg_iovlen = 1;
  message.msg_control = said.data();
  message.msg_controllen = said.size();
  if (recvmsg(socket, &message, MSG_DONTWAIT) < 0) return -errno;
  int left = -1;
  if (const cmsghdr* const header = CMSG_FIRSTHDR(&message); header != nullptr)
    std::memcpy(&left, CMSG_DATA(header), sizeof left);
  return left;
}

TEST(ReadTest, TellsHowMuchIsLeft) {
  const auto [client, server] = Connected();
  ASSERT_EQ(write(client, "axisd", 5), 5);
  EXPECT_EQ(ReadAndAsk(server, 2), 3);
  EXPECT_EQ(ReadAndAsk(server, 3), 0);
  EXPECT_EQ(ReadAndAsk(server, 1), -EAGAIN);
  close(client);
  close(server);
}

TEST(ReadTest, AResetIsLeftToRead) {
  const auto [client, server] = Connected();
  ASSERT_EQ(write(client, "axisd", 5), 5);
  const linger reset{.l_onoff = 1, .l_linger = 0};
  setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  close(client);
  pollfd gone{.fd = server, .events = 0, .revents = 0};
  ASSERT_EQ(poll(&gone, 1, 10'000), 1);
  EXPECT_EQ(ReadAndAsk(server, 2), 3);
  EXPECT_EQ(ReadAndAsk(server, 3), 1);
  EXPECT_EQ(ReadAndAsk(server, 1), -ECONNRESET);
  close(server);
}

}  // namespace
