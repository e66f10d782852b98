#include "server/rpc/record.h"

#include <chrono>

namespace axis {

bool IsLate(const grpc::ServerContext& context) {
  return context.deadline() < std::chrono::system_clock::now();
}

void RecordCall(const Workshop& workshop, size_t method, const char* name,
                const grpc::ServerContext& context, CallReport& report) {
  absl::Status& status = report.status;
  if (status.code() == absl::StatusCode::kCancelled && IsLate(context))
    status = absl::DeadlineExceededError("the deadline of the call passed");
  if (status.code() == absl::StatusCode::kResourceExhausted &&
      report.rejected == nullptr)
    report.rejected = "inflight_bytes";
  workshop.metrics.Record(method, report);
  if (status.code() == absl::StatusCode::kInternal) {
    workshop.log.Error("call failed by a defect",
                       {{"method", name}, {"message", status.message()}});
  }
  if (status.code() == absl::StatusCode::kUnauthenticated ||
      status.code() == absl::StatusCode::kPermissionDenied) {
    // Whoever tries a thousand times a second does not fill the disk.
    if (const int64_t times = workshop.refusals.Due(); times > 0)
      workshop.log.Warning("refused",
                           {{"method", name},
                            {"peer", context.peer()},
                            {"client", report.client},
                            {"code", absl::StatusCodeToString(status.code())},
                            {"message", status.message()},
                            {"times", times}});
  }
  if (workshop.access_log)
    workshop.log.Info("call",
                      {{"method", name},
                       {"peer", context.peer()},
                       {"client", report.client},
                       {"code", absl::StatusCodeToString(status.code())},
                       {"message", status.message()},
                       {"seconds", absl::ToDoubleSeconds(report.duration)},
                       {"received_bytes", report.received_bytes},
                       {"sent_bytes", report.sent_bytes},
                       {"shared", report.shared},
                       {"joined", report.joined},
                       {"strided", report.strided}});
}

}  // namespace axis
