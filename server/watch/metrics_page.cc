#include "server/watch/metrics_page.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace axis {
namespace {

// Whether `socket` waits for connections to one of `ports`.
bool ListensTo(int socket, const std::vector<int>& ports) {
  int listens = 0;
  socklen_t size = sizeof listens;
  if (getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 ||
      listens == 0)
    return false;
  sockaddr_storage address{};
  size = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return false;
  in_port_t port = 0;
  if (address.ss_family == AF_INET)
    port = reinterpret_cast<const sockaddr_in&>(address).sin_port;
  if (address.ss_family == AF_INET6)
    port = reinterpret_cast<const sockaddr_in6&>(address).sin6_port;
  return std::find(ports.begin(), ports.end(), ntohs(port)) != ports.end();
}

}  // namespace

MetricsPage::MetricsPage(const std::string& address)
    // Several threads and a timeout, so that clients that connect and say
    // nothing cannot starve a scrape.
    : exposer_({"listening_ports", address, "num_threads", "4",
                "request_timeout_ms", "2000", "keep_alive_timeout_ms",
                "2000"}) {}

absl::StatusOr<std::unique_ptr<MetricsPage>> MetricsPage::Start(
    const std::string& address,
    const std::vector<std::weak_ptr<prometheus::Collectable>>& collectables) {
  try {
    std::unique_ptr<MetricsPage> page(new MetricsPage(address));
    for (const auto& collectable : collectables)
      page->exposer_.RegisterCollectable(collectable);
    return page;
  } catch (const std::exception& error) {
    return absl::UnavailableError(
        absl::StrCat("cannot serve metrics on --metrics=", address, ": ",
                     error.what(), " (is the port taken?)"));
  }
}

// The thread of CivetWeb that waits for connections looks up every two seconds
// only, or when something happens to its sockets.
MetricsPage::~MetricsPage() {
  const std::vector<int> ports = exposer_.GetListeningPorts();
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc/self/fd", error), end;
       !error && it != end; it.increment(error)) {
    int socket;
    if (absl::SimpleAtoi(it->path().filename().string(), &socket) &&
        ListensTo(socket, ports))
      shutdown(socket, SHUT_RDWR);
  }
}

}  // namespace axis
