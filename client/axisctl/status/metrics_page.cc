#include "client/axisctl/status/metrics_page.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"

namespace axis {
namespace {

// A page has some 100 KiB.
constexpr size_t kMaxPageBytes = 16 << 20;

// A socket, closed at the end.
class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

absl::Status Failed(const std::string& address, absl::string_view why) {
  return absl::UnavailableError(
      absl::StrCat("no metrics at --metrics=", address, ": ", why));
}

int ConnectTo(const std::string& host, const std::string& port,
              const timeval& patience, std::string& why) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error =
          getaddrinfo(host.c_str(), port.c_str(), &hints, &found)) {
    why = gai_strerror(error);
    return -1;
  }
  int fd = -1;
  for (const addrinfo* at = found; at != nullptr && fd < 0; at = at->ai_next) {
    fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd, at->ai_addr, at->ai_addrlen) == 0) break;
    why = std::strerror(errno);
    close(fd);
    fd = -1;
  }
  freeaddrinfo(found);
  return fd;
}

}  // namespace

absl::StatusOr<MetricsPage> MetricsPage::Get(const std::string& address,
                                             absl::Duration timeout) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos)
    return absl::InvalidArgumentError(
        absl::StrCat("--metrics must be HOST:PORT, is '", address, "'"));
  std::string host = address.substr(0, colon), why;
  if (host.size() > 1 && host.front() == '[')
    host = host.substr(1, host.size() - 2);
  const Socket link(ConnectTo(host, address.substr(colon + 1),
                              absl::ToTimeval(timeout), why));
  if (link.fd() < 0) return Failed(address, why);
  // In HTTP/1.0 the answer ends with the connection.
  const std::string request =
      absl::StrCat("GET /metrics HTTP/1.0\r\nHost: ", address, "\r\n\r\n");
  if (send(link.fd(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size()))
    return Failed(address, std::strerror(errno));
  const absl::Time end = absl::Now() + timeout;
  std::string answer;
  char part[16 << 10];
  for (;;) {
    const ssize_t n = recv(link.fd(), part, sizeof part, 0);
    if (n < 0) return Failed(address, std::strerror(errno));
    if (n == 0) break;
    answer.append(part, static_cast<size_t>(n));
    if (answer.size() > kMaxPageBytes || absl::Now() > end)
      return Failed(address, "the answer does not end");
  }
  const size_t body = answer.find("\r\n\r\n");
  const absl::string_view status = absl::string_view(answer).substr(0, 12);
  if (body == std::string::npos ||
      status.substr(std::min<size_t>(status.size(), 9)) != "200")
    return Failed(address, "what answers is no page of metrics");
  return Parse(answer.substr(body + 4));
}

MetricsPage MetricsPage::Parse(const std::string& text) {
  MetricsPage page;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.rfind(' ');
    if (space == absl::string_view::npos) continue;
    absl::string_view name = line.substr(0, space);
    Sample sample;
    if (!absl::SimpleAtod(line.substr(space + 1), &sample.value)) continue;
    if (const size_t brace = name.find('{'); brace != name.npos) {
      absl::string_view labels = name.substr(brace + 1);
      absl::ConsumeSuffix(&labels, "}");
      // No label of axisd has a comma or a quote in it.
      for (const absl::string_view label :
           absl::StrSplit(labels, ',', absl::SkipEmpty())) {
        const std::pair<absl::string_view, absl::string_view> parts =
            absl::StrSplit(label, absl::MaxSplits("=\"", 1));
        sample.labels[std::string(parts.first)] =
            std::string(absl::StripSuffix(parts.second, "\""));
      }
      name = name.substr(0, brace);
    }
    sample.name = std::string(name);
    page.samples_.push_back(std::move(sample));
  }
  return page;
}

namespace {

bool Has(const MetricsPage::Labels& all, const MetricsPage::Labels& some) {
  return std::all_of(some.begin(), some.end(), [&](const auto& label) {
    const auto it = all.find(label.first);
    return it != all.end() && it->second == label.second;
  });
}

}  // namespace

double MetricsPage::Sum(const std::string& name, const Labels& labels) const {
  double sum = 0;
  for (const Sample& sample : samples_)
    if (sample.name == name && Has(sample.labels, labels)) sum += sample.value;
  return sum;
}

std::vector<std::string> MetricsPage::Values(const std::string& name,
                                             const std::string& label) const {
  std::set<std::string> seen;
  std::vector<std::string> values;
  for (const Sample& sample : samples_) {
    const auto it = sample.labels.find(label);
    if (sample.name == name && it != sample.labels.end() &&
        seen.insert(it->second).second)
      values.push_back(it->second);
  }
  return values;
}

std::map<double, double> MetricsPage::Buckets(const std::string& name,
                                              const Labels& labels) const {
  std::map<double, double> buckets;
  for (const Sample& sample : samples_) {
    if (sample.name != name + "_bucket" || !Has(sample.labels, labels))
      continue;
    double bound = 0;
    const auto it = sample.labels.find("le");
    if (it != sample.labels.end() && absl::SimpleAtod(it->second, &bound))
      buckets[bound] += sample.value;
  }
  return buckets;
}

}  // namespace axis
