#include "server/call/rpc_status.h"

#include <string>
#include <tuple>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "kernels/status.h"

namespace axis {
namespace {

// A status carries its delay as the message that goes out, under its type.
constexpr char kRetryUrl[] = "type.googleapis.com/google.rpc.RetryInfo";

// Clients take at most 8 KiB of trailers, the text comes three times in them
// and may be spelled out in 3 or 4/3 times its bytes.
constexpr size_t kMaxText = 768;

// `text`, cut between two characters of UTF-8 if it is too long.
std::string Shortened(std::string text) {
  if (text.size() <= kMaxText) return text;
  size_t end = kMaxText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  return absl::StrCat(text.substr(0, end), "...");
}

}  // namespace

absl::Status WithRetry(absl::Status status, absl::Duration delay) {
  google::rpc::RetryInfo info;
  auto& out = *info.mutable_retry_delay();
  out.set_seconds(absl::IDivDuration(delay, absl::Seconds(1), &delay));
  out.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(delay)));
  status.SetPayload(kRetryUrl, absl::Cord(info.SerializeAsString()));
  return status;
}

absl::Status OutOfMemory() {
  return WithRetry(absl::ResourceExhaustedError("the server is out of memory"),
                   absl::Seconds(1));
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::string field = Shortened(FieldOf(status));
  std::string message = Shortened(std::string(status.message()));
  google::rpc::Status rich;
  rich.set_code(static_cast<int>(status.code()));
  if (!field.empty()) {
    google::rpc::BadRequest bad;
    auto* violation = bad.add_field_violations();
    violation->set_field(field);
    violation->set_description(message);
    std::ignore = rich.add_details()->PackFrom(bad);  // short: it fits
    message = Shortened(absl::StrCat(field, ": ", message));
  }
  if (const auto retry = status.GetPayload(kRetryUrl)) {
    auto* detail = rich.add_details();
    detail->set_type_url(kRetryUrl);
    detail->set_value(std::string(*retry));
  }
  rich.set_message(message);
  return {static_cast<grpc::StatusCode>(status.code()), message,
          rich.SerializeAsString()};
}

}  // namespace axis
