#include "server/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "kernels/copy/memory/buffer_pool.h"
#include "kernels/status.h"
#include "server/connections/conversation.h"
#include "server/guard/guard.h"
#include "server/guard/watched_files.h"
#include "server/models/repository.h"
#include "server/oip/inference_service.h"
#include "server/process/admission.h"
#include "server/process/host.h"
#include "server/process/metrics.h"
#include "server/queue/event.h"
#include "server/queue/pollers.h"
#include "server/rpc/tensor_service.h"
#include "server/shm/regions.h"
#include "server/standard/health.h"
#include "server/standard/health_listener.h"
#include "server/watch/metrics_page.h"

namespace axis {
namespace {

// After this many seconds without a call, free memory goes back to the system.
constexpr int kIdleTicks = 5;

// The longest that a connection may take to answer that it lives.
constexpr absl::Duration kKeepaliveTimeout = absl::Seconds(20);

// And to introduce itself, by TLS and HTTP/2: gRPC would wait two minutes, and
// keep a place for it.
constexpr absl::Duration kHandshakeTimeout = absl::Seconds(20);

// Clients may ask us as often as this. gRPC's own five minutes would close the
// connections of clients that keep theirs alive more carefully than that.
constexpr absl::Duration kMinClientPing = absl::Seconds(5);

// From so many changes of who is sent to between two ticks on, several clients
// are served at once; probes of health make one or two.
constexpr int64_t kSharedChanges = 20;

// There may be one thread that polls to so many that compute.
constexpr int kThreadsPerPoller = 2;

// Reflection is served by gRPC with a thread a stream; nobody needs more.
constexpr int kMaxSyncThreads = 16;

// Of both services, in the order in which metrics count them.
std::vector<std::string> MethodNames() {
  std::vector<std::string> names = TensorService::MethodNames();
  for (std::string& name : InferenceService::MethodNames())
    names.push_back(std::move(name));
  return names;
}

class AxisServer final : public Server {
 public:
  AxisServer(const Options& options, const Log& log)
      : options_(options),
        log_(log),
        threads_(options.threads > 0 ? options.threads : AvailableCpus()),
        parallelism_(tbb::global_control::max_allowed_parallelism,
                     // oneTBB takes it that who asks is one of them.
                     static_cast<size_t>(threads_) + 1),
        arena_(threads_, /*reserved_for_masters=*/0),
        turns_(arena_),
        admission_(options.max_inflight_bytes, options.max_inflight_calls),
        pool_(std::make_shared<BufferPool>(options.max_idle_bytes)),
        metrics_(MethodNames(), admission_, log),
        repository_(options.models, log),
        regions_(options.allow_shared_memory),
        health_(MakeHealth()) {}

  ~AxisServer() override {
    if (pollers_) Shutdown();
  }

  absl::Status Listen() {
    AXIS_RETURN_IF_ERROR(ServeMetrics());
    AXIS_ASSIGN_OR_RETURN(files_, WatchedFiles::Load(options_, log_, metrics_));
    MakeServices();
    AXIS_RETURN_IF_ERROR(ServeCalls());
    if (!options_.health_listen.empty()) {
      AXIS_ASSIGN_OR_RETURN(
          health_listener_,
          HealthListener::Start(options_.health_listen, kHandshakeTimeout));
    }
    for (const char* name : {"", "readiness", "liveness"})
      SetHealth(name, true);
    health_->Start(queue_.get(), live_calls_);
    tensors_->Start(queue_.get());
    inference_->Start(queue_.get());
    pollers_.emplace(*queue_, std::max(1, threads_ / kThreadsPerPoller));
    log_.Info("listening", {{"addresses", absl::StrJoin(options_.listen, ",")},
                            {"tls", files_->certificates() ? "on" : "off"},
                            {"access_rules", options_.access_rules},
                            {"health", options_.health_listen},
                            {"metrics", options_.metrics},
                            {"threads", threads_},
                            {"version", AXIS_VERSION}});
    return absl::OkStatus();
  }

  const std::vector<int>& ports() const override { return ports_; }

  void BecomeUnready() override {
    // Not liveness: a server that drains must not be killed for it.
    SetHealth("", false);
    SetHealth("readiness", false);
    inference_->SetReady(false);
  }

  void Shutdown() override {
    health_->EndWatches();
    server_->Shutdown(absl::ToChronoTime(absl::Now() + options_.drain_timeout));
    // What computes, or waits in the queue to be begun or ended.
    live_calls_.AwaitNone();
    queue_->Shutdown();
    pollers_.reset();
  }

  void Tick(const ConnectionCounts& seen) override {
    const ConnectionCounts before = std::exchange(seen_, seen);
    pollers_->Adjust(seen.sender_changes - before.sender_changes >=
                     kSharedChanges);
    metrics_.SetPollers(pollers_->count());
    const int64_t begun = metrics_.begun();
    const bool busy = begun != last_begun_ || metrics_.inflight() > 0;
    idle_ticks_ = busy ? 0 : idle_ticks_ + 1;
    last_begun_ = begun;
    pool_->Trim(std::chrono::seconds(kIdleTicks));
    if (idle_ticks_ == kIdleTicks) ReleaseFreeMemory();
    files_->Reload();
    TellClosed(seen.refused - before.refused, seen.hung_up - before.hung_up);
  }

 private:
  void SetHealth(const std::string& name, bool serving) {
    health_->Set(name, serving);
    if (health_listener_ != nullptr)
      health_listener_->health().Set(name, serving);
  }

  void TellClosed(int64_t refused, int64_t hung_up) {
    metrics_.RecordClosedConnections(refused, hung_up);
    if (refused > 0)
      log_.Warning("connections refused",
                   {{"max_connections", options_.max_connections},
                    {"open_files", OpenFiles()},
                    {"may_open", FileLimit()},
                    {"times", refused}});
    if (hung_up > 0)
      log_.Warning("connections hung up: too many streams, resets or headers",
                   {{"max_streams", kMaxStreams}, {"times", hung_up}});
  }

  void MakeServices() {
    guard_.emplace(admission_, files_->access());
    const Workshop workshop{.admission = admission_,
                            .guard = *guard_,
                            .pool = *pool_,
                            .recipes = recipes_,
                            .metrics = metrics_,
                            .live_calls = live_calls_,
                            .log = log_,
                            .refusals = refusals_,
                            .slow = slow_,
                            .arena = arena_,
                            .turns = turns_,
                            .max_message_bytes = options_.max_message_bytes,
                            .access_log = options_.access_log,
                            .log_slower_than = options_.log_slower_than};
    tensors_ = MakeTensorService(workshop);
    inference_ = MakeInferenceService(workshop, repository_, regions_,
                                      TensorService::MethodNames().size());
  }

  absl::Status ServeMetrics() {
    if (options_.metrics.empty()) return absl::OkStatus();
    AXIS_ASSIGN_OR_RETURN(
        metrics_page_,
        MetricsPage::Start(options_.metrics, metrics_.Collectables()));
    return absl::OkStatus();
  }

  absl::Status ServeCalls() {
    // gRPC serves it, past the rules.
    if (options_.reflection && files_->access() == nullptr)
      grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    ports_.resize(options_.listen.size());
    const auto credentials =
        files_->certificates() == nullptr
            ? grpc::InsecureServerCredentials()
            : files_->certificates()->Credentials(
                  /*requires_client_certificate=*/files_->access() == nullptr);
    for (size_t i = 0; i < ports_.size(); ++i)
      builder.AddListeningPort(options_.listen[i], credentials, &ports_[i]);
    builder.RegisterService(tensors_->service());
    builder.RegisterService(inference_->service());
    builder.RegisterService(health_->service());
    // Our own limit is checked in the call, where the answer can say what to
    // do; what gRPC buffers until then is bounded by the quota.
    builder.SetMaxReceiveMessageSize(-1);
    builder.SetMaxSendMessageSize(-1);
    grpc::ResourceQuota quota("axisd");
    quota.Resize(static_cast<size_t>(options_.max_inflight_bytes +
                                     2 * options_.max_message_bytes));
    quota.SetMaxThreads(kMaxSyncThreads);
    builder.SetResourceQuota(quota);
    // gRPC inflates a compressed message without a bound: we do it instead.
    builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
    // Else a second server could share the port, and half the calls.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
    // Newer ones cancel calls, unseen, while more than a thousand wait.
    for (const char* limit : {"grpc.server.max_pending_requests",
                              "grpc.server.max_pending_requests_hard_limit"})
      builder.AddChannelArgument(limit, 1 << 30);
    const auto set = [&builder](const char* argument, absl::Duration time) {
      builder.AddChannelArgument(
          argument, static_cast<int>(absl::ToInt64Milliseconds(time)));
    };
    set(GRPC_ARG_MAX_CONNECTION_AGE_MS, options_.max_connection_age);
    set(GRPC_ARG_KEEPALIVE_TIME_MS, options_.keepalive);
    const absl::Duration patience =
        std::min(options_.keepalive, kKeepaliveTimeout);
    set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, patience);
    set(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeout);
    // Newer ones wait that long for the answer to any ping.
    set("grpc.http2.ping_timeout_ms", patience);
    set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMinClientPing);
    // With calls or without.
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || std::count(ports_.begin(), ports_.end(), 0) > 0)
      return absl::UnavailableError(absl::StrCat(
          "cannot listen on --listen=", absl::StrJoin(options_.listen, ","),
          " (is an address taken?)"));
    return absl::OkStatus();
  }

  const Options options_;
  const Log& log_;
  const int threads_;
  tbb::global_control parallelism_;
  tbb::task_arena arena_;
  Turns turns_;
  Admission admission_;
  const std::shared_ptr<BufferPool> pool_;  // outlived by slices gRPC holds
  RecipeBook recipes_;
  Metrics metrics_;
  LiveCalls live_calls_;
  const Repository repository_;
  Regions regions_;
  std::unique_ptr<WatchedFiles> files_;
  std::optional<Guard> guard_;
  OncePerSecond refusals_, slow_;
  std::unique_ptr<Health> health_;
  std::unique_ptr<HealthListener> health_listener_;  // null without
  std::unique_ptr<TensorService> tensors_;
  std::unique_ptr<InferenceService> inference_;
  std::unique_ptr<MetricsPage> metrics_page_;  // null without
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<int> ports_;
  std::optional<Pollers> pollers_;
  ConnectionCounts seen_;
  int64_t last_begun_ = 0;
  int idle_ticks_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const Options& options,
                                                      const Log& log) {
  auto server = std::make_unique<AxisServer>(options, log);
  AXIS_RETURN_IF_ERROR(server->Listen());
  return server;
}

}  // namespace axis
