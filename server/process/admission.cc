#include "server/process/admission.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/call/rpc_status.h"

namespace axis {

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
    return WithRetry(
        absl::ResourceExhaustedError(absl::StrCat(
            "the server is full: other calls hold ", before,
            " of --max_inflight_bytes=", max, ", this one needs ", bytes)),
        absl::Milliseconds(100));
  }
  held_ += bytes;
  return absl::OkStatus();
}

}  // namespace axis
