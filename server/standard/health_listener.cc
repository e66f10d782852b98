#include "server/standard/health_listener.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include <chrono>
#include <optional>

#include "absl/strings/str_cat.h"
#include "server/queue/event.h"
#include "server/queue/pollers.h"

namespace axis {
namespace {

// Nobody asks for health in more than a few bytes.
constexpr int kMaxMessageBytes = 4 << 10;
constexpr size_t kMaxBufferedBytes = 4 << 20;

class Listener final : public HealthListener {
 public:
  ~Listener() override {
    if (server_ == nullptr) return;
    health_->EndWatches();
    server_->Shutdown(std::chrono::system_clock::now());
    live_calls_.AwaitNone();
    queue_->Shutdown();
    pollers_.reset();
  }

  Health& health() override { return *health_; }

  absl::Status Listen(const std::string& address,
                      absl::Duration handshake_timeout) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(health_->service());
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    grpc::ResourceQuota quota("health");
    quota.Resize(kMaxBufferedBytes);
    builder.SetResourceQuota(quota);
    // As of the server for calls: server.cc says why.
    builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(
        GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
        static_cast<int>(absl::ToInt64Milliseconds(handshake_timeout)));
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) {
      queue_->Shutdown();
      return absl::UnavailableError(
          absl::StrCat("cannot listen on --health_listen=", address,
                       " (is the address taken?)"));
    }
    health_->Start(queue_.get(), live_calls_);
    pollers_.emplace(*queue_);
    return absl::OkStatus();
  }

 private:
  LiveCalls live_calls_;
  const std::unique_ptr<Health> health_ = MakeHealth();
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::optional<Pollers> pollers_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HealthListener>> HealthListener::Start(
    const std::string& address, absl::Duration handshake_timeout) {
  auto listener = std::make_unique<Listener>();
  const absl::Status status = listener->Listen(address, handshake_timeout);
  if (!status.ok()) return status;
  return listener;
}

}  // namespace axis
