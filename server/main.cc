// axisd: reads the flags, runs the server, takes it down on SIGTERM. The only
// reader of flags.
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "server/connections/accept.h"
#include "server/connections/callers.h"
#include "server/connections/conversation.h"
#include "server/connections/linger.h"
#include "server/connections/sockets.h"
#include "server/options.h"
#include "server/process/grpc_log.h"
#include "server/process/host.h"
#include "server/process/log.h"
#include "server/process/out_of_memory.h"
#include "server/server.h"

namespace axis {

// A number of bytes as people write it: "1073741824", "256MiB".
struct ByteCount {
  int64_t bytes;
};

bool AbslParseFlag(absl::string_view text, ByteCount* count,
                   std::string* error) {
  int shift = 0;
  if (absl::ConsumeSuffix(&text, "KiB")) shift = 10;
  if (absl::ConsumeSuffix(&text, "MiB")) shift = 20;
  if (absl::ConsumeSuffix(&text, "GiB")) shift = 30;
  int64_t n = 0;
  if (absl::SimpleAtoi(text, &n) && n >= 0 && n <= INT64_MAX >> (shift + 8)) {
    count->bytes = n << shift;
    return true;
  }
  *error = "must be a number of bytes, such as 1048576, 64KiB, 256MiB or 2GiB";
  return false;
}

std::string AbslUnparseFlag(ByteCount count) {
  return absl::StrCat(count.bytes);
}

bool AbslParseFlag(absl::string_view text, Log::Format* format,
                   std::string* error) {
  if (text == "text" || text == "json") {
    *format = text == "json" ? Log::Format::kJson : Log::Format::kText;
    return true;
  }
  *error = "must be text or json";
  return false;
}

std::string AbslUnparseFlag(Log::Format format) {
  return format == Log::Format::kJson ? "json" : "text";
}

}  // namespace axis

const axis::Options kDefaults;

ABSL_FLAG(std::vector<std::string>, listen, kDefaults.listen,
          "where to take calls: host:port or unix:PATH; may be repeated");
ABSL_FLAG(std::string, metrics, kDefaults.metrics,
          "where to serve Prometheus metrics, host:port; empty for nowhere");
ABSL_FLAG(std::string, tls_certificate, kDefaults.tls_certificate,
          "a PEM file of our certificate and its chain, which turns TLS on; "
          "looked at every second");
ABSL_FLAG(std::string, tls_key, kDefaults.tls_key,
          "a PEM file of the key of --tls_certificate");
ABSL_FLAG(std::string, tls_client_ca, kDefaults.tls_client_ca,
          "a PEM file of the authorities that vouch for clients, which must "
          "then show a certificate; empty: they are not asked for one");
ABSL_FLAG(
    std::string, access_rules, kDefaults.access_rules,
    "a file of who may call what, an axis.v1.AccessRules; looked at every "
    "second; empty: everybody may call everything");
ABSL_FLAG(std::string, health_listen, kDefaults.health_listen,
          "where to tell health, and nothing else, in plaintext: host:port or "
          "unix:PATH; empty for nowhere");
ABSL_FLAG(int, threads, kDefaults.threads,
          "threads that compute; 0 for the CPUs of the affinity mask and the "
          "cgroup quota");
ABSL_FLAG(axis::ByteCount, max_message_bytes, {kDefaults.max_message_bytes},
          "the largest request or response, below 2GiB");
ABSL_FLAG(axis::ByteCount, max_inflight_bytes, {kDefaults.max_inflight_bytes},
          "requests and responses held at a time; beyond it calls are refused");
ABSL_FLAG(
    int64_t, max_connections, kDefaults.max_connections,
    "connections at a time, of up to 128KiB each; more are closed as they "
    "come");
ABSL_FLAG(int64_t, max_inflight_calls, kDefaults.max_inflight_calls,
          "calls of more than a moment (large, compressed, streams) under way "
          "at a time; beyond it they are refused");
ABSL_FLAG(axis::ByteCount, max_idle_bytes, {kDefaults.max_idle_bytes},
          "memory of finished calls kept for the next ones");
ABSL_FLAG(absl::Duration, drain_delay, kDefaults.drain_delay,
          "from SIGTERM until calls are refused; readiness is off meanwhile");
ABSL_FLAG(absl::Duration, drain_timeout, kDefaults.drain_timeout,
          "how long calls may run after that");
ABSL_FLAG(absl::Duration, max_connection_age, kDefaults.max_connection_age,
          "connections older than this are closed, without loss");
ABSL_FLAG(absl::Duration, keepalive, kDefaults.keepalive,
          "connections silent for this long are asked whether they live, and "
          "closed if not");
ABSL_FLAG(std::string, models, kDefaults.models,
          "a folder of *.textproto programs and OpenVINO *.xml to serve as "
          "models; empty for none");
ABSL_FLAG(bool, allow_shared_memory, kDefaults.allow_shared_memory,
          "let clients of the inference service register POSIX shared memory");
ABSL_FLAG(bool, reflection, kDefaults.reflection,
          "let clients such as grpcurl list and describe the services");
ABSL_FLAG(axis::Log::Format, log_format, axis::Log::Format::kText,
          "text or json");
ABSL_FLAG(bool, access_log, kDefaults.access_log, "log a line for every call");
ABSL_FLAG(absl::Duration, log_slower_than, kDefaults.log_slower_than,
          "log calls that are served in more time than this, one a second at "
          "most; streams do not count");

namespace axis {
namespace {

// Exit codes.
constexpr int kCannotStart = 1;
constexpr int kBadFlags = 2;

// Brings repeated --listen flags together, of which absl would keep the last.
std::vector<char*> JoinListenFlags(int argc, char** argv, std::string& joined) {
  std::vector<char*> out;
  for (int i = 0; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (absl::ConsumePrefix(&arg, "--listen=")) {
      absl::StrAppend(&joined, joined.empty() ? "--listen=" : ",", arg);
    } else {
      out.push_back(argv[i]);
    }
  }
  if (!joined.empty()) out.insert(out.begin() + 1, joined.data());
  return out;
}

Options OptionsFromFlags() {
  return {.listen = absl::GetFlag(FLAGS_listen),
          .metrics = absl::GetFlag(FLAGS_metrics),
          .tls_certificate = absl::GetFlag(FLAGS_tls_certificate),
          .tls_key = absl::GetFlag(FLAGS_tls_key),
          .tls_client_ca = absl::GetFlag(FLAGS_tls_client_ca),
          .access_rules = absl::GetFlag(FLAGS_access_rules),
          .health_listen = absl::GetFlag(FLAGS_health_listen),
          .threads = absl::GetFlag(FLAGS_threads),
          .max_message_bytes = absl::GetFlag(FLAGS_max_message_bytes).bytes,
          .max_inflight_bytes = absl::GetFlag(FLAGS_max_inflight_bytes).bytes,
          .max_connections = absl::GetFlag(FLAGS_max_connections),
          .max_inflight_calls = absl::GetFlag(FLAGS_max_inflight_calls),
          .max_idle_bytes = absl::GetFlag(FLAGS_max_idle_bytes).bytes,
          .drain_delay = absl::GetFlag(FLAGS_drain_delay),
          .drain_timeout = absl::GetFlag(FLAGS_drain_timeout),
          .max_connection_age = absl::GetFlag(FLAGS_max_connection_age),
          .keepalive = absl::GetFlag(FLAGS_keepalive),
          .models = absl::GetFlag(FLAGS_models),
          .allow_shared_memory = absl::GetFlag(FLAGS_allow_shared_memory),
          .reflection = absl::GetFlag(FLAGS_reflection),
          .access_log = absl::GetFlag(FLAGS_access_log),
          .log_slower_than = absl::GetFlag(FLAGS_log_slower_than)};
}

// What is wrong with `options`, or "".
std::string Complaint(const Options& options) {
  if (options.listen.empty()) return "--listen: must name an address";
  if (options.tls_certificate.empty() != options.tls_key.empty())
    return "--tls_certificate and --tls_key: must be given together";
  if (!options.tls_client_ca.empty() && options.tls_certificate.empty())
    return "--tls_client_ca: must be given with --tls_certificate";
  if (options.threads < 0 || options.threads > 1024)
    return "--threads: must lie in [0, 1024]";
  if (options.max_message_bytes < 1024 || options.max_message_bytes > INT32_MAX)
    return "--max_message_bytes: must lie in [1KiB, 2GiB)";
  if (options.max_inflight_bytes < options.max_message_bytes)
    return "--max_inflight_bytes: must be at least --max_message_bytes";
  if (options.max_connections < 1 || options.max_connections > 1 << 20)
    return "--max_connections: must lie in [1, 1048576]";
  if (options.max_inflight_calls < 1)
    return "--max_inflight_calls: must be at least 1";
  if (options.drain_delay < absl::ZeroDuration() ||
      options.drain_timeout < absl::ZeroDuration() ||
      options.drain_delay > absl::Hours(1) ||
      options.drain_timeout > absl::Hours(1))
    return "--drain_delay, --drain_timeout: must lie in [0, 1h]";
  if (options.max_connection_age < absl::Seconds(1) ||
      options.max_connection_age > absl::Hours(24))
    return "--max_connection_age: must lie in [1s, 24h]";
  if (options.keepalive < absl::Seconds(1) ||
      options.keepalive > absl::Hours(24))
    return "--keepalive: must lie in [1s, 24h]";
  return "";
}

// Open files that are not calls' connections: our own, and of who scrapes.
constexpr int64_t kOwnFiles = 64;

// Bytes of open streams for each connection; in all, at least a client's most.
constexpr int64_t kStreamBytesPerConnection = 128 << 10;

// Calls `tick` about once a second until one of `signals` or `deadline` comes.
template <class Tick>
void WaitForSignal(const sigset_t& signals, absl::Time deadline, Tick tick) {
  while (absl::Now() < deadline) {
    const timespec wait =
        absl::ToTimespec(std::min(absl::Seconds(1), deadline - absl::Now()));
    if (sigtimedwait(&signals, nullptr, &wait) > 0) return;
    tick();
  }
}

int Main(int argc, char** argv) {
  PrepareProcess();
  SilenceProtobuf();
  WaitForMemory();
  absl::SetProgramUsageMessage(
      "Serves Transpose, ShuffleChannels, VariadicSplit and Shuffle over "
      "gRPC.\nSIGTERM: readiness goes off, calls are served for --drain_delay, "
      "then the server ends; a second one skips the delay.");
  absl::FlagsUsageConfig usage;
  usage.version_string = [] { return "axisd " AXIS_VERSION "\n"; };
  // Or --help looks for flags in a file that is called as the program is.
  usage.contains_help_flags = [](absl::string_view file) {
    return absl::EndsWith(file, "server/main.cc");
  };
  absl::SetFlagsUsageConfig(usage);
  std::string joined;
  std::vector<char*> args = JoinListenFlags(argc, argv, joined);
  const auto rest =
      absl::ParseCommandLine(static_cast<int>(args.size()), args.data());
  Log log(absl::GetFlag(FLAGS_log_format));
  const Options options = OptionsFromFlags();
  if (rest.size() > 1) {
    log.Error("unexpected argument", {{"argument", rest[1]}});
    return kBadFlags;
  }
  if (const std::string complaint = Complaint(options); !complaint.empty()) {
    log.Error(complaint);
    return kBadFlags;
  }
  LimitFiles(kOwnFiles + options.max_connections);
  LimitConnections(
      std::min(options.max_connections,
               std::max(FileLimit() - kOwnFiles, FileLimit() / 2)));
  LimitStreams(std::max(kMaxStreams * StreamBytes(kMaxBlockBytes),
                        kStreamBytesPerConnection * options.max_connections));
  // Before any thread is started, so that all of them leave these to us.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  log.StartWriter();
  const GrpcLog grpc_log(log);

  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(options, log);
  if (!server.ok()) {
    log.Error(server.status().message());
    return kCannotStart;
  }
  const auto tick = [&] {
    (*server)->Tick({.sender_changes = SenderChanges(),
                     .refused = RefusedConnections(),
                     .hung_up = HungUpConnections()});
  };
  WaitForSignal(signals, absl::InfiniteFuture(), tick);
  log.Info("draining", {{"delay", absl::FormatDuration(options.drain_delay)}});
  (*server)->BecomeUnready();
  WaitForSignal(signals, absl::Now() + options.drain_delay, tick);
  log.Info("shutting down",
           {{"timeout", absl::FormatDuration(options.drain_timeout)}});
  (*server)->Shutdown();
  AwaitLingering();
  log.Info("bye");
  return 0;
}

}  // namespace
}  // namespace axis

int main(int argc, char** argv) { return axis::Main(argc, argv); }
