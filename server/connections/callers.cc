#include "server/connections/callers.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace axis {
namespace {

// How many connections an address may have for each that is left.
constexpr int64_t kShare = 8;

// Bytes of the address, without the port; of an IPv6 address those of the
// network. All peers of Unix sockets are one.
std::string NetworkOf(const sockaddr_storage& peer) {
  const auto bytes = [](const auto& address, size_t begin, size_t end) {
    return std::string(reinterpret_cast<const char*>(&address) + begin,
                       end - begin);
  };
  if (peer.ss_family == AF_INET)
    return bytes(reinterpret_cast<const sockaddr_in&>(peer).sin_addr, 0, 4);
  if (peer.ss_family != AF_INET6) return "";
  const in6_addr& address =
      reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr;
  return IN6_IS_ADDR_V4MAPPED(&address) ? bytes(address, 12, 16)
                                        : bytes(address, 0, 8);
}

class Callers {
 public:
  bool Admit(int connection, std::string network) {
    const std::lock_guard lock(mutex_);
    const int64_t left = most_ - static_cast<int64_t>(network_of_.size());
    int64_t& own = connections_of_[network];
    if (own >= kShare * left) {
      if (own == 0) connections_of_.erase(network);
      return false;
    }
    ++own;
    network_of_[connection] = std::move(network);
    return true;
  }

  void Leave(int connection) {
    const std::lock_guard lock(mutex_);
    const auto found = network_of_.find(connection);
    if (found == network_of_.end()) return;
    const auto own = connections_of_.find(found->second);
    if (--own->second == 0) connections_of_.erase(own);
    network_of_.erase(found);
  }

  void Limit(int64_t most) {
    const std::lock_guard lock(mutex_);
    most_ = most;
  }

 private:
  std::mutex mutex_;
  int64_t most_ = int64_t{1} << 40;
  std::unordered_map<std::string, int64_t> connections_of_;
  std::unordered_map<int, std::string> network_of_;
};

// Never destroyed: connections are closed until the very end of the process.
Callers& callers() {
  static Callers& the = *new Callers;
  return the;
}

}  // namespace

void LimitConnections(int64_t most) { callers().Limit(most); }

bool Admit(int connection, const sockaddr_storage& peer) {
  return callers().Admit(connection, NetworkOf(peer));
}

void Leave(int connection) { callers().Leave(connection); }

}  // namespace axis
