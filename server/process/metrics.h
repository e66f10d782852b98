// The metrics: every name that axisd exports, in one place.
//
// Knows no messages and no RPCs; calls tell it what happened.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/process/admission.h"
#include "server/process/log.h"
#include "server/watch/trace.h"

namespace axis {

// What one call did, filled in on its way through the rooms.
struct CallReport {
  enum Phase { kUnpack, kCompile, kCopy, kPack, kPhases };

  // For people.
  static constexpr std::array<const char*, kPhases> kPhaseNames = {
      "unpack", "compile", "copy", "pack"};

  absl::Status status;
  absl::Duration duration;
  std::array<absl::Duration, kPhases> phases{};
  int phase = -1;  // the last that was entered; none yet
  int64_t received_bytes = 0;
  int64_t sent_bytes = 0;
  int shared = 0;   // outputs and temporaries that are slices of their source
  int joined = 0;   // sources brought together because they lay in pieces
  int strided = 0;  // writes by the engine
  std::string client;              // who called, where that mattered
  Trace trace;                     // of unary calls and whole streams
  bool is_stream = false;          // that may take as long as its client likes
  bool wants_shapes = false;       // the next is to be filled in
  std::string shapes;              // of the inputs: "F32[2,3] U8[7]"
  const char* rejected = nullptr;  // a value of the label `reason`, or null
};

// Thread-safe. Every child is resolved at construction: finding one later
// takes a lock and a search.
class Metrics {
 public:
  // `methods` are the values of the label `method`.
  Metrics(const std::vector<std::string>& methods, const Admission& admission,
          const Log& log);
  ~Metrics();

  // Tells of a finished call of methods[method].
  void Record(size_t method, const CallReport& report);

  // Tells of connections that were closed as they came, and later.
  void RecordClosedConnections(int64_t refused, int64_t hung_up);

  // A call has begun, or one has ended.
  void CallBegins() { ++begun_, ++inflight_; }
  void CallEnds() { --inflight_; }
  int64_t begun() const { return begun_; }
  int64_t inflight() const { return inflight_; }

  // How many threads poll for calls.
  void SetPollers(int count) { pollers_ = count; }

  // Files that are read again while the server runs.
  enum Reloaded { kCertificate, kAccessRules, kReloadeds };

  // Whether what was found in them last is good, and so in use.
  void SetReloaded(Reloaded what, bool good) { reloaded_[what] = good; }

  // Until when clients trust us; for ever where that is not by a certificate.
  void SetCertificateExpiry(absl::Time expiry) {
    expiry_ = absl::ToDoubleSeconds(expiry - absl::UnixEpoch());
  }

  // What a scrape collects. Valid as long as this object.
  std::vector<std::weak_ptr<prometheus::Collectable>> Collectables() const;

 private:
  struct Method {
    std::vector<prometheus::Counter*> requests;  // by status code
    prometheus::Histogram* duration;
    prometheus::Counter* received_bytes;
    prometheus::Counter* sent_bytes;
  };
  class Gauges;  // what is read off at the time of a scrape

  std::shared_ptr<prometheus::Registry> registry_;
  std::vector<Method> methods_;
  std::array<prometheus::Histogram*, CallReport::kPhases> phases_{};
  prometheus::Counter* shared_;
  prometheus::Counter* joined_;
  prometheus::Counter* strided_;
  prometheus::Family<prometheus::Counter>* rejected_;
  std::atomic<int> pollers_{1};
  std::atomic<int64_t> begun_{0};
  std::atomic<int64_t> inflight_{0};
  std::array<std::atomic<bool>, kReloadeds> reloaded_{true, true};
  std::atomic<double> expiry_{std::numeric_limits<double>::infinity()};
  std::shared_ptr<Gauges> gauges_;
};

}  // namespace axis
