#include "server/process/metrics.h"

#include <grpcpp/grpcpp.h>

#include "server/process/host.h"

namespace axis {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Histogram;
using prometheus::MetricFamily;
using prometheus::MetricType;

// Seconds, from a small call on one core to a stream of gigabytes.
const Histogram::BucketBoundaries kSeconds = {
    25e-6, 50e-6,  100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3,
    50e-3, 100e-3, 250e-3, 500e-3, 1,      2.5,  5,      10,   30,    100};

constexpr const char* kReloadedNames[] = {"certificate", "access_rules"};

// The names of the gRPC codes, by number.
constexpr const char* kCodes[] = {"OK",
                                  "CANCELLED",
                                  "UNKNOWN",
                                  "INVALID_ARGUMENT",
                                  "DEADLINE_EXCEEDED",
                                  "NOT_FOUND",
                                  "ALREADY_EXISTS",
                                  "PERMISSION_DENIED",
                                  "RESOURCE_EXHAUSTED",
                                  "FAILED_PRECONDITION",
                                  "ABORTED",
                                  "OUT_OF_RANGE",
                                  "UNIMPLEMENTED",
                                  "INTERNAL",
                                  "UNAVAILABLE",
                                  "DATA_LOSS",
                                  "UNAUTHENTICATED"};

MetricFamily Gauge(const char* name, const char* help, double value) {
  MetricFamily family{name, help, MetricType::Gauge, {}};
  family.metric.emplace_back();
  family.metric.back().gauge.value = value;
  return family;
}

}  // namespace

class Metrics::Gauges final : public prometheus::Collectable {
 public:
  Gauges(const Metrics& metrics, const Admission& admission, const Log& log)
      : metrics_(metrics), admission_(admission), log_(log) {}

  std::vector<MetricFamily> Collect() const override {
    MetricFamily reloaded{"axisd_reload_successful",
                          "Whether the newest content of files that may change "
                          "is good, and so in use.",
                          MetricType::Gauge,
                          {}};
    for (size_t i = 0; i < kReloadeds; ++i) {
      prometheus::ClientMetric& metric = reloaded.metric.emplace_back();
      metric.label = {{"files", kReloadedNames[i]}};
      metric.gauge.value = metrics_.reloaded_[i] ? 1 : 0;
    }
    MetricFamily dropped{
        "axisd_log_dropped_total",
        "Lines of the log that nobody could be brought to take.",
        MetricType::Counter,
        {}};
    dropped.metric.emplace_back().counter.value =
        static_cast<double>(log_.dropped());
    return {
        reloaded,
        dropped,
        Gauge("axisd_certificate_expiry_timestamp_seconds",
              "When the certificate of TLS ends; +Inf without TLS.",
              metrics_.expiry_),
        Gauge("axisd_inflight_requests", "Calls being served.",
              static_cast<double>(metrics_.inflight())),
        Gauge("axisd_polling_threads",
              "Threads that wait for calls and serve the small ones.",
              metrics_.pollers_),
        Gauge("axisd_inflight_bytes",
              "Bytes of requests and responses that calls hold.",
              static_cast<double>(admission_.held_bytes())),
        Gauge("axisd_counted_requests",
              "Calls of more than a moment that are under way.",
              static_cast<double>(admission_.calls())),
        Gauge("axisd_counted_limit_requests",
              "The value of --max_inflight_calls.",
              static_cast<double>(admission_.max_calls())),
        Gauge("axisd_active_clients",
              "Clients that share the server, as far as it had to know them.",
              static_cast<double>(admission_.clients())),
        Gauge("axisd_inflight_limit_bytes",
              "The value of --max_inflight_bytes.",
              static_cast<double>(admission_.max_bytes())),
        Gauge("process_resident_memory_bytes", "Resident memory.",
              static_cast<double>(ResidentBytes())),
        Gauge("process_open_fds", "Open file descriptors.",
              static_cast<double>(OpenFiles())),
        Gauge("process_max_fds", "How many there may be.",
              static_cast<double>(FileLimit())),
    };
  }

 private:
  const Metrics& metrics_;
  const Admission& admission_;
  const Log& log_;
};

constexpr char kConnections[] = "connections";
constexpr char kStreams[] = "streams";

Metrics::Metrics(const std::vector<std::string>& methods,
                 const Admission& admission, const Log& log)
    : registry_(std::make_shared<prometheus::Registry>()),
      gauges_(std::make_shared<Gauges>(*this, admission, log)) {
  BuildGauge()
      .Name("axisd_build_info")
      .Help("Always 1; the labels say what is running.")
      .Register(*registry_)
      .Add({{"version", AXIS_VERSION}, {"grpc_version", grpc::Version()}})
      .Set(1);
  auto& requests = BuildCounter()
                       .Name("axisd_requests_total")
                       .Help("Finished calls by gRPC status code.")
                       .Register(*registry_);
  auto& durations = BuildHistogram()
                        .Name("axisd_request_duration_seconds")
                        .Help(
                            "Time from the last byte of a request to the "
                            "first of its response.")
                        .Register(*registry_);
  auto& received = BuildCounter()
                       .Name("axisd_received_bytes_total")
                       .Help("Bytes of request messages.")
                       .Register(*registry_);
  auto& sent = BuildCounter()
                   .Name("axisd_sent_bytes_total")
                   .Help("Bytes of response messages.")
                   .Register(*registry_);
  for (const std::string& name : methods) {
    Method& method = methods_.emplace_back();
    for (const char* code : kCodes)
      method.requests.push_back(
          &requests.Add({{"method", name}, {"code", code}}));
    method.duration = &durations.Add({{"method", name}}, kSeconds);
    method.received_bytes = &received.Add({{"method", name}});
    method.sent_bytes = &sent.Add({{"method", name}});
  }
  auto& phases = BuildHistogram()
                     .Name("axisd_phase_duration_seconds")
                     .Help("Time in each room of a successful call.")
                     .Register(*registry_);
  for (size_t i = 0; i < phases_.size(); ++i)
    phases_[i] = &phases.Add({{"phase", CallReport::kPhaseNames[i]}}, kSeconds);
  auto& copies =
      BuildCounter()
          .Name("axisd_copies_total")
          .Help(
              "What became of each tensor written: shared (no byte copied), "
              "joined (pieces of a message brought together first), strided "
              "(rearranged by the engine).")
          .Register(*registry_);
  shared_ = &copies.Add({{"kind", "shared"}});
  joined_ = &copies.Add({{"kind", "joined"}});
  strided_ = &copies.Add({{"kind", "strided"}});
  rejected_ =
      &BuildCounter()
           .Name("axisd_rejected_total")
           .Help(
               "Calls, or connections, refused for a limit, or by the rules, "
               "by which.")
           .Register(*registry_);
  for (const char* reason :
       {"message_bytes", "inflight_bytes", "inflight_calls", "client_share",
        "access", kConnections, kStreams})
    rejected_->Add({{"reason", reason}});
}

Metrics::~Metrics() = default;

std::vector<std::weak_ptr<prometheus::Collectable>> Metrics::Collectables()
    const {
  return {registry_, gauges_};
}

void Metrics::RecordClosedConnections(int64_t refused, int64_t hung_up) {
  rejected_->Add({{"reason", kConnections}})
      .Increment(static_cast<double>(refused));
  rejected_->Add({{"reason", kStreams}})
      .Increment(static_cast<double>(hung_up));
}

void Metrics::Record(size_t index, const CallReport& report) {
  Method& method = methods_[index];
  method.requests[static_cast<size_t>(report.status.code())]->Increment();
  method.duration->Observe(absl::ToDoubleSeconds(report.duration));
  method.received_bytes->Increment(static_cast<double>(report.received_bytes));
  method.sent_bytes->Increment(static_cast<double>(report.sent_bytes));
  if (report.rejected != nullptr)
    rejected_->Add({{"reason", report.rejected}}).Increment();
  if (!report.status.ok()) return;
  for (size_t i = 0; i < phases_.size(); ++i)
    phases_[i]->Observe(absl::ToDoubleSeconds(report.phases[i]));
  if (report.shared > 0) shared_->Increment(report.shared);
  if (report.joined > 0) joined_->Increment(report.joined);
  if (report.strided > 0) strided_->Increment(report.strided);
}

}  // namespace axis
