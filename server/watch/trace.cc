#include "server/watch/trace.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace axis {
namespace {

// Longer ones are cut; there is no limit that all agree on.
constexpr size_t kMaxRequestId = 128;

// Of "00-<32 hex digits>-<16 hex digits>-<2 hex digits>"; later versions may
// go on after that.
constexpr size_t kTraceparentBytes = 55;

bool IsHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
  });
}

bool IsTraceparent(absl::string_view text) {
  if (text.size() < kTraceparentBytes) return false;
  const absl::string_view version = text.substr(0, 2);
  const absl::string_view trace = text.substr(3, 32);
  const absl::string_view parent = text.substr(36, 16);
  if (text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
  if (!IsHex(version) || !IsHex(trace) || !IsHex(parent) ||
      !IsHex(text.substr(53, 2)))
    return false;
  if (version == "ff" || trace.find_first_not_of('0') == trace.npos ||
      parent.find_first_not_of('0') == parent.npos)
    return false;
  if (text.size() == kTraceparentBytes) return true;
  return version != "00" && text[kTraceparentBytes] == '-';
}

}  // namespace

absl::string_view Trace::trace_id() const {
  return traceparent.empty() ? absl::string_view()
                             : absl::string_view(traceparent).substr(3, 32);
}

Trace TakeTrace(grpc::ServerContext& context) {
  Trace trace;
  const auto& metadata = context.client_metadata();
  if (const auto it = metadata.find("x-request-id"); it != metadata.end()) {
    trace.request_id.assign(it->second.data(),
                            std::min(it->second.size(), kMaxRequestId));
    context.AddInitialMetadata("x-request-id", trace.request_id);
  }
  if (const auto it = metadata.find("traceparent"); it != metadata.end()) {
    const absl::string_view text(it->second.data(), it->second.size());
    if (IsTraceparent(text)) {
      trace.traceparent = std::string(text.substr(0, kTraceparentBytes));
      context.AddInitialMetadata("traceparent", trace.traceparent);
    }
  }
  return trace;
}

}  // namespace axis
