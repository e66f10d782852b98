#include "client/axisctl/status/status.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"

namespace axis {
namespace {

std::string Amount(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; bytes /= 1024) ++unit;
  return absl::StrFormat("%.4g %s", bytes, kUnits[unit]);
}

std::string Time(double seconds) {
  if (std::isinf(seconds)) return ">100 s";
  if (seconds < 1e-3) return absl::StrFormat("%.0f us", seconds * 1e6);
  if (seconds < 1) return absl::StrFormat("%.3g ms", seconds * 1e3);
  return absl::StrFormat("%.3g s", seconds);
}

// The bound of the bucket that the `q`-th part of the calls since `before`
// falls into; 0 if there were none.
double Quantile(const MetricsPage& before, const MetricsPage& after,
                const MetricsPage::Labels& labels, double q) {
  const std::string name = "axisd_request_duration_seconds";
  const std::map<double, double> old = before.Buckets(name, labels);
  const std::map<double, double> now = after.Buckets(name, labels);
  if (now.empty()) return 0;
  const auto since = [&](double bound, double count) {
    const auto it = old.find(bound);
    return count - (it == old.end() ? 0 : it->second);
  };
  const double all = since(now.rbegin()->first, now.rbegin()->second);
  if (all <= 0) return 0;
  for (const auto& [bound, count] : now)
    if (since(bound, count) >= q * all) return bound;
  return now.rbegin()->first;
}

}  // namespace

std::string Describe(const MetricsPage& before, const MetricsPage& after,
                     double seconds) {
  const auto rate = [&](const char* name, const MetricsPage::Labels& labels) {
    return (after.Sum(name, labels) - before.Sum(name, labels)) / seconds;
  };
  std::string out;
  absl::StrAppendFormat(
      &out, "version   axisd %s, gRPC %s\n",
      absl::StrJoin(after.Values("axisd_build_info", "version"), " "),
      absl::StrJoin(after.Values("axisd_build_info", "grpc_version"), " "));
  absl::StrAppendFormat(
      &out, "limits    %s of %s in flight, %.0f of %.0f large calls\n",
      Amount(after.Sum("axisd_inflight_bytes")),
      Amount(after.Sum("axisd_inflight_limit_bytes")),
      after.Sum("axisd_counted_requests"),
      after.Sum("axisd_counted_limit_requests"));
  absl::StrAppendFormat(&out, "process   %s resident, %.0f files open\n",
                        Amount(after.Sum("process_resident_memory_bytes")),
                        after.Sum("process_open_fds"));
  const double all = rate("axisd_requests_total", {});
  absl::StrAppendFormat(
      &out, "calls     %.4g/s, %.4g/s of them not OK, %.0f in flight\n", all,
      all - rate("axisd_requests_total", {{"code", "OK"}}),
      after.Sum("axisd_inflight_requests"));
  absl::StrAppendFormat(&out, "bytes     %s/s received, %s/s sent\n",
                        Amount(rate("axisd_received_bytes_total", {})),
                        Amount(rate("axisd_sent_bytes_total", {})));
  for (const std::string& reason :
       after.Values("axisd_rejected_total", "reason"))
    if (const double r = rate("axisd_rejected_total", {{"reason", reason}});
        r > 0)
      absl::StrAppendFormat(&out, "refused   %.4g/s for %s\n", r, reason);
  for (const std::string& files :
       after.Values("axisd_reload_successful", "files"))
    if (after.Sum("axisd_reload_successful", {{"files", files}}) == 0)
      absl::StrAppendFormat(
          &out,
          "WARNING   the newest %s is not good, the last good one stands\n",
          files);
  const double expiry = after.Sum("axisd_certificate_expiry_timestamp_seconds");
  if (std::isfinite(expiry))
    absl::StrAppendFormat(
        &out, "TLS       the certificate ends in %.1f days\n",
        (expiry - absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch())) /
            86400);
  absl::StrAppendFormat(&out, "\n%-28s %9s %9s %9s %9s\n", "method", "calls/s",
                        "not OK/s", "p50 up to", "p99 up to");
  for (const std::string& method :
       after.Values("axisd_requests_total", "method")) {
    const MetricsPage::Labels labels{{"method", method}};
    const double calls = rate("axisd_requests_total", labels);
    if (calls <= 0) continue;
    const double good =
        rate("axisd_requests_total", {{"method", method}, {"code", "OK"}});
    absl::StrAppendFormat(&out, "%-28s %9.4g %9.4g %9s %9s\n", method, calls,
                          calls - good,
                          Time(Quantile(before, after, labels, 0.5)),
                          Time(Quantile(before, after, labels, 0.99)));
  }
  return out;
}

ExitStatus Status(const CommandLine& line, bool again) {
  const absl::StatusOr<std::unique_ptr<Client>> client = Connect(line);
  if (!client.ok()) return Complain(client.status().message());
  absl::StatusOr<MetricsPage> before =
      MetricsPage::Get(line.metrics, line.timeout);
  if (!before.ok()) return Complain(before.status().message());
  for (;;) {
    const absl::Time begin = absl::Now();
    absl::SleepFor(line.every);
    absl::StatusOr<MetricsPage> after =
        MetricsPage::Get(line.metrics, line.timeout);
    if (!after.ok()) return Complain(after.status().message());
    const absl::StatusOr<bool> serving = (*client)->Health("readiness");
    const std::string health = !serving.ok()
                                   ? std::string(serving.status().message())
                                   : (*serving ? "SERVING" : "NOT_SERVING");
    // In a terminal the new picture takes the place of the old one.
    if (again && isatty(STDOUT_FILENO) == 1)
      std::fputs("\033[H\033[2J", stdout);
    std::printf(
        "server    %s: %s\n%s", line.server.c_str(), health.c_str(),
        Describe(*before, *after, absl::ToDoubleSeconds(absl::Now() - begin))
            .c_str());
    if (again) std::puts("");
    std::fflush(stdout);
    if (!again) return serving.ok() && *serving ? kDone : kRefused;
    before = std::move(after);
  }
}

}  // namespace axis
