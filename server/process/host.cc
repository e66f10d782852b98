#include "server/process/host.h"

#include <fcntl.h>
#include <grpcpp/version_info.h>
#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"

namespace axis {
namespace {

// The words of the first line of `path`; none if it cannot be read.
std::vector<std::string> Words(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return absl::StrSplit(line, ' ', absl::SkipEmpty());
}

// CPUs by quota of period, rounded up; INT_MAX where there is no quota.
int QuotaCpus(const std::string& quota, const std::string& period) {
  int64_t q = 0, p = 0;
  if (!absl::SimpleAtoi(quota, &q) || !absl::SimpleAtoi(period, &p) || q <= 0 ||
      p <= 0)
    return INT_MAX;
  return static_cast<int>(std::min<int64_t>((q + p - 1) / p, INT_MAX));
}

// The smallest quota from the cgroup `path` of this process up to the root.
// Inside a container the files lie at the root, whatever `path` says.
int CgroupCpus(std::string path) {
  int cpus = INT_MAX;
  for (;;) {
    const std::vector<std::string> v2 =
        Words("/sys/fs/cgroup" + path + "/cpu.max");
    if (v2.size() == 2) cpus = std::min(cpus, QuotaCpus(v2[0], v2[1]));
    const std::string v1 = "/sys/fs/cgroup/cpu" + path;
    const std::vector<std::string> quota = Words(v1 + "/cpu.cfs_quota_us");
    const std::vector<std::string> period = Words(v1 + "/cpu.cfs_period_us");
    if (quota.size() == 1 && period.size() == 1)
      cpus = std::min(cpus, QuotaCpus(quota[0], period[0]));
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return cpus;
    path.resize(slash);
  }
}

// sched_attr of sched_setattr(2), in its first version, which every kernel
// takes; glibc has known it since 2.41.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t niceness = 0;
  uint32_t priority = 0;
  uint64_t runtime_ns = 0;
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};

// Of the threads that have not had more than their share, Linux runs the one
// whose slice would end first; since 6.12 each may ask for a slice of its own.
// This one, and all that it starts, ask for the shortest there is: when the
// polling thread wakes, it waits less for who computes, in any process.
// Older kernels ignore it; where it is not allowed, nothing is lost.
void AskForShortSlices() {
  SchedulingAttributes ours;
  if (syscall(SYS_sched_getattr, 0, &ours, sizeof ours, 0) != 0 ||
      ours.policy != SCHED_OTHER)
    return;
  ours.runtime_ns = 100'000;
  syscall(SYS_sched_setattr, 0, &ours, 0);
}

}  // namespace

void PrepareProcess() {
  // Fresh pages cost more than any copy: keep what was allocated once. The
  // heap is trimmed when the server is idle instead (ReleaseFreeMemory).
  // 32 MiB is the most that glibc takes for the threshold. One heap, because
  // trimming leaves the end of any other alone; only who polls allocates
  // often, so that it is hardly fought for.
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, 16 << 20);
  // gRPC reads sockets in pieces of 8 to 64 KiB unless told otherwise; large
  // pieces let the engine read a message where it lies.
#if GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR < 53
  // Later ones know it no more, and complain.
  setenv("GRPC_EXPERIMENTS", "-tcp_read_chunks", 0);
#endif
  // Debian builds absl, and so the locks of gRPC, to watch for deadlocks: a
  // sixth of the instructions of a small call.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  AskForShortSlices();
  signal(SIGPIPE, SIG_IGN);
  // Else a connection may get the number of a closed standard error, and the
  // log with it. What is only read says that nothing was written.
  int next;
  do {
    next = open("/dev/null", O_RDONLY);
  } while (next >= 0 && next <= STDERR_FILENO);
  if (next >= 0) close(next);
}

int AvailableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // "4:cpu,cpuacct:/path", or "0::/path" for version 2.
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const std::vector<std::string> names = absl::StrSplit(parts[1], ',');
    if (parts[0] == "0" ||
        std::find(names.begin(), names.end(), "cpu") != names.end())
      cpus = std::min(cpus, CgroupCpus(parts[2] == "/" ? "" : parts[2]));
  }
  return std::max(cpus, 1);
}

void LimitFiles(int64_t most) {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min(static_cast<rlim_t>(most), limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

int64_t FileLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<int64_t>(limit.rlim_cur);
}

void ReleaseFreeMemory() { malloc_trim(0); }

int64_t ResidentBytes() {
  const std::vector<std::string> words = Words("/proc/self/statm");
  int64_t pages = 0;
  if (words.size() < 2 || !absl::SimpleAtoi(words[1], &pages)) return 0;
  return pages * sysconf(_SC_PAGESIZE);
}

int64_t OpenFiles() {
  std::error_code error;
  const std::filesystem::directory_iterator begin("/proc/self/fd", error);
  return error ? 0 : std::distance(begin, {});
}

}  // namespace axis
