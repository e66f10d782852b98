#include "server/guard/guard.h"

#include <arpa/inet.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "kernels/status.h"

namespace axis {

std::string ClientOfPeer(const std::string& peer) {
  // gRPC writes the brackets of IPv6 as in a URI.
  const std::string plain =
      absl::StrReplaceAll(peer, {{"%5B", "["}, {"%5D", "]"}});
  absl::string_view rest = plain;
  if (absl::ConsumePrefix(&rest, "ipv4:"))
    return std::string(rest.substr(0, rest.rfind(':')));
  if (!absl::ConsumePrefix(&rest, "ipv6:")) {
    return std::string(rest.substr(0, rest.find(':')));
  }
  rest = rest.substr(0, rest.rfind(']'));
  absl::ConsumePrefix(&rest, "[");
  // One host has as many addresses of its network as it likes.
  const std::string address(rest.substr(0, rest.find('%')));
  in6_addr bits{};
  char text[INET6_ADDRSTRLEN];
  if (inet_pton(AF_INET6, address.c_str(), &bits) != 1) return address;
  if (IN6_IS_ADDR_V4MAPPED(&bits)) {
    inet_ntop(AF_INET, bits.s6_addr + 12, text, sizeof text);
    return text;
  }
  if (IN6_IS_ADDR_LOOPBACK(&bits)) return address;
  std::fill(bits.s6_addr + 8, bits.s6_addr + 16, uint8_t{0});
  inet_ntop(AF_INET6, &bits, text, sizeof text);
  return absl::StrCat(text, "/64");
}

absl::Status Guard::Identify(const grpc::ServerContext& context,
                             pb::MethodGroup group, Weight weight,
                             Admission::Lease& lease,
                             CallReport& report) const {
  const Credentials shown = CredentialsOf(context);
  // Without rules nobody says which tokens are good: they name nobody.
  if (access_ != nullptr && group != pb::METHOD_GROUP_UNSPECIFIED) {
    absl::StatusOr<std::string> name = access_->Check(shown, group);
    if (!name.ok()) {
      report.rejected = "access";
      report.client = ClientOfPeer(context.peer());
      return name.status();
    }
    report.client = *std::move(name);
  } else if (!shown.certificate.empty()) {
    report.client = shown.certificate.front();
  } else {
    report.client = ClientOfPeer(context.peer());
  }
  const absl::Status entered =
      lease.Enter(admission_.Find(report.client), weight == Weight::kHeavy);
  report.rejected = lease.refused();
  return entered;
}

}  // namespace axis
