// What calls took: the clock of the client, and what Linux counts of processes.
#pragma once

#include <sys/sysinfo.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace axis::bench {

using Clock = std::chrono::steady_clock;

inline double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Usage {
  double cpu_seconds = 0;    // of all threads, in user and kernel space
  int64_t minor_faults = 0;  // pages that had to be found, not read from disk
};

// Zeros if there is no such process.
inline Usage UsageOf(pid_t pid) {
  Usage usage;
  clockid_t clock;
  timespec time;
  if (clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &time) == 0)
    usage.cpu_seconds = static_cast<double>(time.tv_sec) +
                        static_cast<double>(time.tv_nsec) * 1e-9;
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line, skipped;
  std::getline(file, line);
  // The name of the program, in parentheses, may hold anything.
  std::istringstream words(line.substr(line.rfind(')') + 1));
  for (int i = 3; i < 10; ++i) words >> skipped;
  words >> usage.minor_faults;  // field 10 of proc(5)
  return usage;
}

// What a hypervisor takes from this machine while this exists; nothing where it
// does not tell.
class StealWatch {
 public:
  double Seconds() const { return Since(start_); }

  // Whether that is less than 3 % of the time of all cores.
  bool WasQuiet() const {
    return StolenSeconds() - before_ < 0.03 * Seconds() * get_nprocs();
  }

 private:
  static double StolenSeconds() {
    std::ifstream file("/proc/stat");
    std::string skipped;
    for (int i = 0; i < 8; ++i) file >> skipped;
    double ticks = 0;
    file >> ticks;  // the eighth figure of proc(5)
    return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }

  const double before_ = StolenSeconds();
  const Clock::time_point start_ = Clock::now();
};

// Starts the count of PeakMiB anew.
inline void ResetPeak(pid_t pid) {
  std::ofstream("/proc/" + std::to_string(pid) + "/clear_refs") << "5";
}

// The most memory that was resident at a time.
inline double PeakMiB(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; file >> word;) {
    double kib = 0;
    if (word == "VmHWM:" && file >> kib) return kib / 1024;
  }
  return 0;
}

inline double Quantile(std::vector<double>& values, double q) {
  const auto at = static_cast<size_t>(q * static_cast<double>(values.size()));
  const auto nth =
      values.begin() + static_cast<ptrdiff_t>(std::min(at, values.size() - 1));
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

// What the calls of one kind to one server took.
struct Figures {
  std::vector<double> latencies_us;  // of all calls of all rounds
  std::vector<double> round_p50_us;
  double seconds = 0, server_cpu = 0, client_cpu = 0;
  int64_t faults = 0;

  // As JSON; `call_bytes` is the payload of a call, counted once though it
  // goes both ways.
  std::string Json(int64_t call_bytes, int64_t calls, double rss_mib) {
    const auto count = static_cast<double>(latencies_us.size());
    const double gb = count * static_cast<double>(call_bytes) / 1e9;
    std::string json = absl::StrCat("{\"calls\": ", calls);
    for (const auto& [key, value] :
         {std::pair("p50_us", Quantile(latencies_us, 0.5)),
          {"p99_us", Quantile(latencies_us, 0.99)},
          {"p999_us", Quantile(latencies_us, 0.999)},
          {"gbps", gb / seconds},
          {"server_cpu_s_per_gb", server_cpu / gb},
          {"client_cpu_s_per_gb", client_cpu / gb},
          {"faults", static_cast<double>(faults) / count},
          {"rss_mib", rss_mib}})
      absl::StrAppend(&json, ", \"", key, "\": ", value);
    return absl::StrCat(json, ", \"round_p50_us\": [",
                        absl::StrJoin(round_p50_us, ", "), "]}");
  }
};

}  // namespace axis::bench
