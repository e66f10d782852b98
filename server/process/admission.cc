#include "server/process/admission.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/call/rpc_status.h"

namespace axis {
namespace {

// A client that was refused comes again within this time if it wants to have
// its share kept free; so a second is told to all as what to wait at most.
constexpr int64_t kActiveMs = 1000;
constexpr int64_t kSweepMs = 100;

constexpr absl::Duration kRetry = absl::Milliseconds(100);

absl::Status Full(absl::string_view why) {
  return WithRetry(absl::ResourceExhaustedError(why), kRetry);
}

}  // namespace

std::shared_ptr<Admission::Client> Admission::Find(absl::string_view name) {
  const int64_t now = absl::ToUnixMillis(absl::Now());
  const std::lock_guard lock(mutex_);
  auto& client = clients_[name];
  const bool is_new = client == nullptr;
  if (is_new) client = std::make_shared<Client>();
  client->seen_at = now;
  std::shared_ptr<Client> found = client;
  if (is_new || now - swept_at_ >= kSweepMs || now < swept_at_) Sweep(now);
  return found;
}

void Admission::Sweep(int64_t now) {
  swept_at_ = now;
  absl::erase_if(clients_, [now](const auto& entry) {
    const Client& client = *entry.second;
    return client.bytes == 0 && client.calls == 0 &&
           now - client.seen_at > kActiveMs;
  });
  active_ = static_cast<int64_t>(clients_.size());
}

Admission::Lease::~Lease() {
  admission_.held_ -= held_;
  if (counts_) --admission_.calls_;
  if (client_ == nullptr) return;
  client_->bytes -= held_;
  if (counts_) --client_->calls;
}

absl::Status Admission::Lease::Enter(std::shared_ptr<Client> client,
                                     bool counts) {
  client_ = std::move(client);
  if (!counts) return absl::OkStatus();
  const int64_t max = admission_.max_calls_;
  const int64_t before = admission_.calls_.fetch_add(1);
  const int64_t own = client_->calls.fetch_add(1);
  const int64_t clients = std::max<int64_t>(admission_.active_, 1);
  const bool is_full = before >= max;
  // The only call of a client is not too many.
  if (is_full || (before >= max / 2 && own > 0 && own >= max / clients)) {
    --admission_.calls_;
    --client_->calls;
    refused_ = is_full ? "inflight_calls" : "client_share";
    return Full(
        is_full ? absl::StrCat("the server is full: --max_inflight_calls=", max,
                               " are under way")
                : absl::StrCat("the server is busy and this client has ", own,
                               " calls under way, its share of "
                               "--max_inflight_calls=",
                               max, " among ", clients, " clients"));
  }
  counts_ = true;
  return absl::OkStatus();
}

absl::Status Admission::Lease::Take(int64_t bytes) {
  const int64_t max = admission_.max_;
  if (bytes > max - held_)
    return absl::ResourceExhaustedError(absl::StrCat(
        "the call needs ", held_, " + ", bytes,
        " bytes of memory, more than this server allows at a time: "
        "--max_inflight_bytes=",
        max));
  const int64_t before = admission_.held_.fetch_add(bytes);
  if (before > max - bytes) {
    admission_.held_ -= bytes;
    refused_ = "inflight_bytes";
    return Full(absl::StrCat("the server is full: other calls hold ", before,
                             " of --max_inflight_bytes=", max,
                             ", this one needs ", bytes));
  }
  if (client_ != nullptr) {
    const int64_t own = client_->bytes.fetch_add(bytes);
    const int64_t clients = std::max<int64_t>(admission_.active_, 1);
    // The only call of a client is not too large.
    if (before + bytes > max / 2 && own > held_ &&
        own + bytes > max / clients) {
      admission_.held_ -= bytes;
      client_->bytes -= bytes;
      refused_ = "client_share";
      return Full(absl::StrCat("the server is busy and this client holds ", own,
                               " bytes of its share, ", max / clients,
                               " of --max_inflight_bytes=", max, " among ",
                               clients, " clients; this call needs ", bytes));
    }
  }
  held_ += bytes;
  refused_ = nullptr;
  return absl::OkStatus();
}

}  // namespace axis
