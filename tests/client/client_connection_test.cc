// Claims of the client about its server: calls end in time, a server that is
// away is waited for or named, and TLS proves both sides.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "client/client.h"
#include "tests/client/fake_server.h"
#include "tests/client/tensors.h"

namespace axis {
namespace {

using absl::StatusCode;

Client::Options Within(absl::Duration timeout) {
  Client::Options options;
  options.timeout = timeout;
  return options;
}

// An address where nobody listens.
std::string Nowhere() { return FakeServer().address(); }

TEST(ClientConnectionTest, ACallEndsAtItsDeadline) {
  FakeServer server;
  server.before = [] {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return grpc::Status::OK;
  };
  Client client(server.address(), Within(absl::Milliseconds(200)));
  const absl::Time begin = absl::Now();
  const auto status = client.Transpose(Small(), {}).status();
  EXPECT_LT(absl::Now() - begin, absl::Milliseconds(900));
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status;
}

TEST(ClientConnectionTest, AServerThatIsAwayIsNamed) {
  const std::string nowhere = Nowhere();
  const auto waited = Client(nowhere, Within(absl::Milliseconds(200)))
                          .Transpose(Small(), {})
                          .status();
  EXPECT_EQ(waited.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(waited.message().find("cannot reach " + nowhere), 0u) << waited;

  Client::Options options;
  options.wait_for_ready = false;
  const absl::Time begin = absl::Now();
  const auto refused = Client(nowhere, options).Transpose(Small(), {}).status();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_EQ(refused.message().find("cannot reach " + nowhere), 0u) << refused;
  EXPECT_FALSE(Client(nowhere).Health().ok());
}

TEST(ClientConnectionTest, AConnectionThatFailsOnceIsTriedAgain) {
  const std::string address = Nowhere();
  std::unique_ptr<FakeServer> server;
  std::thread starter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    server = std::make_unique<FakeServer>(address);
  });
  Client::Options options;
  options.wait_for_ready = false;
  const auto status = Client(address, options).Transpose(Small(), {}).status();
  starter.join();
  EXPECT_TRUE(status.ok()) << status;
}

TEST(ClientConnectionTest, CallsWaitUntilTheServerIsReady) {
  FakeServer server;
  server.SetReady(false);
  Client client(server.address());
  EXPECT_FALSE(client.Health("readiness").value());
  EXPECT_TRUE(client.Health().value());
  EXPECT_EQ(client.Health("no such").status().code(), StatusCode::kNotFound);
  std::thread later([&server] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_EQ(server.calls(), 0);
    server.SetReady(true);
  });
  EXPECT_TRUE(client.Transpose(Small(), {}).ok());
  later.join();
}

TEST(ClientConnectionTest, UnixSocketsAreAddressesToo) {
  const std::string path =
      "unix:" + testing::TempDir() + "axis" + std::to_string(getpid());
  FakeServer server(path);
  EXPECT_TRUE(Client(path).Transpose(Small(), {}).ok());
}

TEST(ClientConnectionTest, TlsProvesBothSides) {
  const std::string stem =
      testing::TempDir() + "axis" + std::to_string(getpid());
  const std::string command =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 "
      "-nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 "
      "-keyout " +
      stem + ".key -out " + stem + ".pem 2> /dev/null";
  // Who builds without ./dev may lack the command; tests/guard/tls.py needs it.
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "no openssl";
  const auto read = [](const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(name).rdbuf();
    return text.str();
  };
  const std::string key = read(stem + ".key"), pem = read(stem + ".pem");
  for (const char* suffix : {".key", ".pem"})
    std::remove((stem + suffix).c_str());
  grpc::SslServerCredentialsOptions demand(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  demand.pem_root_certs = pem;
  demand.pem_key_cert_pairs = {{key, pem}};
  FakeServer server("127.0.0.1:0", grpc::SslServerCredentials(demand));

  Client::Options options = Within(absl::Seconds(5));
  options.tls = grpc::SslCredentialsOptions{pem, key, pem};
  const auto output = Client(server.address(), options).Transpose(Small(), {});
  EXPECT_TRUE(output.ok()) << output.status();
  options.wait_for_ready = false;
  options.tls = grpc::SslCredentialsOptions{pem, "", ""};
  EXPECT_FALSE(Client(server.address(), options).Transpose(Small(), {}).ok());
  options.tls.reset();
  EXPECT_FALSE(Client(server.address(), options).Transpose(Small(), {}).ok());
}

}  // namespace
}  // namespace axis
