// The page of metrics that axisd serves, as axisctl reads it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace axis {

// What one scrape gave: a number for each name and set of labels.
class MetricsPage {
 public:
  using Labels = std::map<std::string, std::string>;
  struct Sample {
    std::string name;
    Labels labels;
    double value;
  };

  // Asks `address`, HOST:PORT.
  // Errors: kUnavailable  no page there within `timeout`
  static absl::StatusOr<MetricsPage> Get(const std::string& address,
                                         absl::Duration timeout);

  // The text format of Prometheus; lines that are none are left out.
  static MetricsPage Parse(const std::string& text);

  // The sum of the samples of `name` that have these labels, and maybe others.
  double Sum(const std::string& name, const Labels& labels = {}) const;

  // The values that a label of `name` has, in their order.
  std::vector<std::string> Values(const std::string& name,
                                  const std::string& label) const;

  // How many were at most so much, by that, of a histogram.
  std::map<double, double> Buckets(const std::string& name,
                                   const Labels& labels) const;

 private:
  std::vector<Sample> samples_;
};

}  // namespace axis
