// Metrics over HTTP, for Prometheus to scrape.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace axis {

class MetricsPage {
 public:
  // Serves /metrics at `address`, host:port.
  // Errors: kUnavailable  it cannot be listened to
  static absl::StatusOr<std::unique_ptr<MetricsPage>> Start(
      const std::string& address,
      const std::vector<std::weak_ptr<prometheus::Collectable>>& collectables);

  // Ends at once, except for a scrape that is under way.
  ~MetricsPage();
  MetricsPage(const MetricsPage&) = delete;
  MetricsPage& operator=(const MetricsPage&) = delete;

 private:
  explicit MetricsPage(const std::string& address);

  prometheus::Exposer exposer_;
};

}  // namespace axis
