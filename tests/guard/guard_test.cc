// Who a client is by its address, and what is its share of a busy server.
#include "server/guard/guard.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/call/rpc_status.h"

namespace axis {
namespace {

TEST(ClientOfPeerTest, IsTheHostAndNotThePort) {
  EXPECT_EQ(ClientOfPeer("ipv4:10.1.2.3:4567"), "10.1.2.3");
  EXPECT_EQ(ClientOfPeer("ipv6:%5B::1%5D:4567"), "::1");
  EXPECT_EQ(ClientOfPeer("ipv6:[2001:db8:1:2:3:4:5:6]:80"),
            "2001:db8:1:2::/64");
  EXPECT_EQ(ClientOfPeer("ipv6:[2001:db8:1:2:ffff::1]:81"),
            "2001:db8:1:2::/64");
  EXPECT_EQ(ClientOfPeer("ipv6:%5B::ffff:10.1.2.3%5D:80"), "10.1.2.3");
  EXPECT_EQ(ClientOfPeer("unix:/run/axisd.sock"), "unix");
  EXPECT_EQ(ClientOfPeer("unix:"), "unix");
  EXPECT_EQ(ClientOfPeer(""), "");
}

// Calls of clients to a server with so much room, as long as they are under
// way.
class Calls {
 public:
  Calls(int64_t bytes, int64_t calls) : admission_(bytes, calls) {}

  absl::Status Add(const std::string& client, int64_t bytes) {
    auto lease = std::make_unique<Admission::Lease>(admission_);
    absl::Status status = lease->Enter(admission_.Find(client), true);
    if (status.ok()) status = lease->Take(bytes);
    refused_ = lease->refused() == nullptr ? "" : lease->refused();
    if (status.ok()) leases_.push_back(std::move(lease));
    return status;
  }

  // How many of `client` get in, one after the other, at most 100.
  int Fill(const std::string& client, int64_t bytes) {
    int n = 0;
    while (n < 100 && Add(client, bytes).ok()) ++n;
    return n;
  }

  Admission& admission() { return admission_; }
  const std::string& refused() const { return refused_; }
  void End() { leases_.clear(); }

 private:
  Admission admission_;
  std::vector<std::unique_ptr<Admission::Lease>> leases_;
  std::string refused_;
};

TEST(AdmissionTest, WhoeverIsAloneTakesAll) {
  Calls calls(1000, 100);
  EXPECT_EQ(calls.Fill("a", 100), 10);
  EXPECT_EQ(calls.refused(), "inflight_bytes");
  calls.End();
  EXPECT_EQ(calls.admission().held_bytes(), 0);
  EXPECT_EQ(calls.admission().calls(), 0);
}

TEST(AdmissionTest, AboveHalfEveryClientHasItsShareOfTheBytes) {
  Calls calls(1000, 100);
  ASSERT_TRUE(calls.Add("b", 1).ok());
  EXPECT_EQ(calls.Fill("a", 50), 10);  // half, of two
  EXPECT_EQ(calls.refused(), "client_share");
  EXPECT_EQ(calls.Fill("b", 50), 9);  // its half
  EXPECT_TRUE(calls.Add("c", 49).ok());
}

TEST(AdmissionTest, AboveHalfEveryClientHasItsShareOfTheCalls) {
  Calls calls(1000, 12);
  ASSERT_TRUE(calls.Add("b", 1).ok());
  ASSERT_TRUE(calls.Add("c", 1).ok());
  EXPECT_EQ(calls.Fill("a", 1), 4);
  EXPECT_EQ(calls.refused(), "client_share");
  EXPECT_EQ(calls.Fill("b", 1), 3);
  EXPECT_EQ(calls.Fill("c", 1), 3);
  EXPECT_EQ(calls.admission().calls(), 12);
  EXPECT_FALSE(calls.Add("d", 1).ok());
  EXPECT_EQ(calls.refused(), "inflight_calls");
}

TEST(AdmissionTest, TheOnlyCallOfAClientIsNotTooMuch) {
  Calls calls(1000, 2);
  ASSERT_TRUE(calls.Add("a", 1).ok());
  ASSERT_TRUE(calls.Add("b", 900).ok());
  EXPECT_FALSE(calls.Add("c", 1).ok());
  calls.End();
  Admission::Lease lease(calls.admission());
  ASSERT_TRUE(lease.Enter(calls.admission().Find("b"), true).ok());
  EXPECT_TRUE(lease.Take(450).ok());
  EXPECT_TRUE(lease.Take(450).ok());
}

TEST(AdmissionTest, WhatWasRefusedIsNotHeld) {
  Calls calls(1000, 100);
  ASSERT_TRUE(calls.Add("a", 600).ok());
  Admission::Lease full(calls.admission());
  ASSERT_TRUE(full.Enter(calls.admission().Find("b"), true).ok());
  EXPECT_FALSE(full.Take(500).ok());  // of all that there is
  EXPECT_EQ(calls.admission().held_bytes(), 600);
  Admission::Lease more(calls.admission());
  ASSERT_TRUE(more.Enter(calls.admission().Find("a"), true).ok());
  EXPECT_FALSE(more.Take(100).ok());  // of its share
  EXPECT_EQ(calls.admission().held_bytes(), 600);
  EXPECT_TRUE(full.Take(400).ok());
}

TEST(AdmissionTest, WithMoreClientsThanCallsEachMayStillHaveOne) {
  Calls calls(1000, 3);
  for (const char* client : {"a", "b", "c", "d"})
    calls.admission().Find(client);
  for (const char* client : {"a", "b", "c"})
    EXPECT_TRUE(calls.Add(client, 1).ok()) << client;
}

TEST(AdmissionTest, CallsKnowWhetherTheirClientHasOthersThatCount) {
  Admission admission(1000);
  Admission::Lease first(admission), passing(admission), other(admission);
  ASSERT_TRUE(first.Enter(admission.Find("a"), true).ok());
  ASSERT_TRUE(passing.Enter(admission.Find("a"), false).ok());
  ASSERT_TRUE(other.Enter(admission.Find("b"), true).ok());
  EXPECT_FALSE(first.IsOneOfSeveral());
  {
    Admission::Lease second(admission);
    ASSERT_TRUE(second.Enter(admission.Find("a"), true).ok());
    EXPECT_TRUE(first.IsOneOfSeveral());
    EXPECT_TRUE(second.IsOneOfSeveral());
    EXPECT_FALSE(passing.IsOneOfSeveral());
    EXPECT_FALSE(other.IsOneOfSeveral());
  }
  EXPECT_FALSE(first.IsOneOfSeveral());
}

TEST(AdmissionTest, RefusalsForLoadSayWhenToComeAgain) {
  Calls calls(1000, 1);
  ASSERT_TRUE(calls.Add("a", 600).ok());
  const absl::Status status = calls.Add("b", 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(ToGrpc(status).error_details().find("RetryInfo"),
            std::string::npos);
  EXPECT_EQ(calls.admission().calls(), 1);
  EXPECT_EQ(calls.admission().held_bytes(), 600);
}

TEST(AdmissionTest, ClientsThatAreGoneTakeNoRoom) {
  Calls calls(1000, 100);
  ASSERT_TRUE(calls.Add("stays", 1).ok());
  for (int i = 0; i < 1000; ++i)
    calls.admission().Find("client" + std::to_string(i));
  absl::SleepFor(absl::Milliseconds(1300));
  calls.admission().Find("new");
  EXPECT_EQ(calls.admission().clients(), 2);
}

}  // namespace
}  // namespace axis
