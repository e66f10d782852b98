#include "server/rpc/record.h"

#include <chrono>
#include <vector>

#include "absl/strings/str_cat.h"

namespace axis {

namespace {

std::vector<LogField> FieldsOf(const char* name,
                               const grpc::ServerContext& context,
                               const CallReport& report) {
  std::vector<LogField> fields = {
      {"method", name},
      {"peer", context.peer()},
      {"client", report.client},
      {"request_id", report.trace.request_id},
      {"trace_id", report.trace.trace_id()},
      {"code", absl::StatusCodeToString(report.status.code())},
      {"message", report.status.message()},
      {"inputs", report.shapes},
      {"seconds", absl::ToDoubleSeconds(report.duration)},
      {"received_bytes", report.received_bytes},
      {"sent_bytes", report.sent_bytes},
      {"shared", report.shared},
      {"joined", report.joined},
      {"strided", report.strided}};
  for (size_t i = 0; i < report.phases.size(); ++i)
    fields.emplace_back(absl::StrCat(CallReport::kPhaseNames[i], "_seconds"),
                        absl::ToDoubleSeconds(report.phases[i]));
  // Where it ended that did not get through: not begun, or in which room.
  if (!report.status.ok())
    fields.emplace_back(
        "stopped_in",
        report.phase < 0
            ? "queue"
            : CallReport::kPhaseNames[static_cast<size_t>(report.phase)]);
  return fields;
}

}  // namespace

bool IsLate(const grpc::ServerContext& context) {
  return context.deadline() < std::chrono::system_clock::now();
}

absl::Status EnterStream(const Workshop& workshop, grpc::ServerContext& context,
                         pb::MethodGroup group, Weight weight,
                         Admission::Lease& lease, CallReport& report) {
  report.trace = TakeTrace(context);
  report.is_stream = true;
  report.wants_shapes = workshop.access_log;
  return workshop.guard.Enter(context, group, weight, lease, report);
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
    workshop.log.Info("call", FieldsOf(name, context, report));
  if (!report.is_stream && report.duration > workshop.log_slower_than &&
      workshop.slow.Due() > 0)
    workshop.log.Warning("slow call", FieldsOf(name, context, report));
}

}  // namespace axis
