// Claims of callers: there are as many connections as may be and no more; an
// address has eight times as many as are left at most, whatever it does, and
// gives back what it had.
#include "server/connections/callers.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace axis {
namespace {

sockaddr_storage Peer(const std::string& address, uint16_t port = 1) {
  sockaddr_storage peer{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(peer);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(peer);
  if (address.empty()) {
    peer.ss_family = AF_UNIX;
  } else if (inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
  } else {
    EXPECT_EQ(inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr), 1);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
  }
  return peer;
}

class CallersTest : public testing::Test {
 protected:
  ~CallersTest() override {
    for (int i = 0; i < next_; ++i) Leave(i);
  }

  // Connects as often as it may: the connections.
  std::vector<int> Connect(const std::string& address, int most = 1 << 20) {
    std::vector<int> connections;
    for (int i = 0; i < most; ++i) {
      const auto port = static_cast<uint16_t>(i);
      if (!Admit(next_, Peer(address, port))) break;
      connections.push_back(next_++);
    }
    return connections;
  }

 private:
  int next_ = 0;
};

TEST_F(CallersTest, OneAddressHasEightNinths) {
  LimitConnections(900);
  EXPECT_EQ(Connect("10.0.0.1").size(), 800u);
  EXPECT_EQ(Connect("10.0.0.1").size(), 0u);
  EXPECT_EQ(Connect("10.0.0.2", 80).size(), 80u) << "there are places left";
}

TEST_F(CallersTest, AnotherOneFindsPlacesBesideThree) {
  LimitConnections(1024);
  for (int i = 0; i < 3; ++i)
    EXPECT_GT(Connect("10.0.1." + std::to_string(i)).size(), 0u) << i;
  EXPECT_EQ(Connect("10.0.0.1", 1).size(), 1u);
}

TEST_F(CallersTest, ThereAreNoMoreThanMayBe) {
  LimitConnections(100);
  int count = 0;
  for (int i = 0; i < 200; ++i)
    count += static_cast<int>(Connect("10.0.2." + std::to_string(i), 1).size());
  EXPECT_EQ(count, 100);
}

TEST_F(CallersTest, OnePlaceIsForWhoeverComes) {
  LimitConnections(1);
  const std::vector<int> one = Connect("10.0.0.1");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(Connect("10.0.0.2").size(), 0u);
  Leave(one[0]);
  EXPECT_EQ(Connect("10.0.0.2").size(), 1u);
}

TEST_F(CallersTest, WhatLeavesMakesRoomOnce) {
  LimitConnections(90);
  const std::vector<int> all = Connect("10.0.0.1");
  ASSERT_EQ(all.size(), 80u);
  for (int i = 0; i < 3; ++i) Leave(all[0]);
  Leave(12345);
  EXPECT_EQ(Connect("10.0.0.1").size(), 1u);
  for (const int each : all) Leave(each);
  EXPECT_EQ(Connect("10.0.0.1").size(), 79u);
}

TEST_F(CallersTest, ANetworkOfIpv6IsOneAddress) {
  for (const auto& [one, another, are_same] :
       {std::tuple{"2001:db8::1", "2001:db8::2", true},
        {"2001:db8::1", "2001:db8:0:1::1", false},
        {"::ffff:10.0.0.1", "10.0.0.1", true},
        {"::ffff:10.0.0.1", "::ffff:10.0.0.2", false},
        {"::1", "127.0.0.1", false},
        {"", "", true},
        {"", "10.0.0.1", false}}) {
    LimitConnections(9);
    std::vector<int> all = Connect(one);
    ASSERT_EQ(all.size(), 8u);
    const std::vector<int> more = Connect(another);
    EXPECT_EQ(more.empty(), are_same) << one << " " << another;
    all.insert(all.end(), more.begin(), more.end());
    for (const int each : all) Leave(each);
  }
}

}  // namespace
}  // namespace axis
