// Claims of TuneProcess() that can be seen from outside: what a Unix socket
// holds. The others are speed (tests/bench/).
#include "client/tune.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include "client/client.h"
#include "tests/client/fake_server.h"
#include "tests/client/tensors.h"

namespace axis {
namespace {

constexpr int kAsked = 1 << 20;

// What the kernel counts for a socket that asked for so much.
int Granted(int bytes) {
  int most = 0;
  std::ifstream("/proc/sys/net/core/wmem_max") >> most;
  return 2 * std::min(bytes, most);
}

int SendBuffer(int socket) {
  int bytes = 0;
  socklen_t size = sizeof(bytes);
  EXPECT_EQ(getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, &size), 0);
  return bytes;
}

sockaddr_un Nobody() {
  sockaddr_un nobody{};
  nobody.sun_family = AF_UNIX;
  std::strcpy(nobody.sun_path, "/nonexistent/axisd.sock");
  return nobody;
}

int AtBirth(int domain) {
  const int socket = ::socket(domain, SOCK_STREAM, 0);
  const int buffer = SendBuffer(socket);
  close(socket);
  return buffer;
}

// The send buffer of a socket of `domain` that asked for `bytes`, if any, once
// it has tried to connect.
int AfterConnect(int domain, int bytes = 0) {
  const int socket = ::socket(domain, SOCK_STREAM, 0);
  if (bytes > 0)
    setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
  const sockaddr_un nobody = Nobody();
  EXPECT_EQ(connect(socket, reinterpret_cast<const sockaddr*>(&nobody),
                    sizeof(nobody)),
            -1);
  const int buffer = SendBuffer(socket);
  close(socket);
  return buffer;
}

// The socket of this process that is connected to `path`; -1 if none is.
int ConnectedTo(const std::string& path) {
  for (int socket = 3; socket < 1024; ++socket) {
    sockaddr_un peer{};
    socklen_t size = sizeof(peer);
    if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
        peer.sun_family == AF_UNIX && path == peer.sun_path)
      return socket;
  }
  return -1;
}

// First: the other tests tune the process.
TEST(TuneTest, AProcessThatIsNotTunedHasTheSocketsOfTheSystem) {
  EXPECT_EQ(AfterConnect(AF_UNIX), AtBirth(AF_UNIX));
}

TEST(TuneTest, UnixSocketsHoldAMebibyte) {
  TuneProcess();
  EXPECT_EQ(AfterConnect(AF_UNIX), Granted(kAsked));
}

TEST(TuneTest, WhoeverAskedForMoreKeepsIt) {
  TuneProcess();
  EXPECT_EQ(AfterConnect(AF_UNIX, 2 * kAsked), Granted(2 * kAsked));
}

TEST(TuneTest, OtherSocketsAreLeftAlone) {
  TuneProcess();
  EXPECT_EQ(AfterConnect(AF_INET), AtBirth(AF_INET));
}

TEST(TuneTest, TheSocketsOfClientsAreMeant) {
  TuneProcess();
  const std::string path = testing::TempDir() + "axis_tune_test.sock";
  unlink(path.c_str());
  const FakeServer server("unix:" + path);
  Client client("unix:" + path);
  ASSERT_TRUE(client.Transpose(Small(), {}).ok());
  const int socket = ConnectedTo(path);
  ASSERT_GE(socket, 0);
  EXPECT_EQ(SendBuffer(socket), Granted(kAsked));
}

}  // namespace
}  // namespace axis
