#include "server/process/grpc_log.h"

#include <grpcpp/version_info.h>

#include <cstdlib>
#include <mutex>

#if GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR < 65
#include <grpc/support/log.h>
#define AXIS_GRPC_HAS_A_LOG
#else
#include "absl/log/globals.h"
#include "absl/log/log_entry.h"
#include "absl/log/log_sink.h"
#include "absl/log/log_sink_registry.h"
#endif

#include "absl/base/log_severity.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace axis {
namespace {

// gRPC's threads may outlive the log.
std::mutex mutex;
const Log* current = nullptr;  // guarded by mutex

// How often to say now what gRPC says; 0 if not now. What is fatal is its last
// word; who sets GRPC_VERBOSITY wants all the rest that it says.
int64_t TimesDue(absl::LogSeverity severity) {
  static const bool is_verbose = std::getenv("GRPC_VERBOSITY") != nullptr;
  static OncePerSecond notes, complaints;
  if (severity == absl::LogSeverity::kFatal) return 1;
  if (severity != absl::LogSeverity::kInfo) return complaints.Due();
  return is_verbose ? 1 : notes.Due();
}

void Tell(absl::LogSeverity severity, absl::string_view message,
          absl::string_view file, int line) {
  const int64_t times = TimesDue(severity);
  if (times == 0) return;
  const LogField fields[] = {
      {"message", message},
      {"at", absl::StrCat(file, ":", line)},
      {"times", times},
  };
  const std::lock_guard lock(mutex);
  if (current == nullptr) return;
  if (severity == absl::LogSeverity::kFatal) {
    current->Fatal("grpc", fields);
  } else if (severity == absl::LogSeverity::kInfo) {
    current->Info("grpc", fields);
  } else {
    current->Warning("grpc", fields);
  }
}

#ifdef AXIS_GRPC_HAS_A_LOG

void Take(gpr_log_func_args* args) {
  absl::LogSeverity severity = absl::LogSeverity::kInfo;
  if (args->severity == GPR_LOG_SEVERITY_ERROR)
    severity = absl::LogSeverity::kError;
  // What GPR_ASSERT() says.
  if (absl::StartsWith(args->message, "assertion failed"))
    severity = absl::LogSeverity::kFatal;
  absl::string_view file = args->file;
  file.remove_prefix(file.rfind('/') + 1);  // npos + 1 is 0
  Tell(severity, args->message, file, args->line);
}

void Listen() { gpr_set_log_function(Take); }
void Ignore() {}

#else

class Sink final : public absl::LogSink {
 public:
  void Send(const absl::LogEntry& entry) override {
    // Fatal ones come twice, then with a stack.
    if (!entry.stacktrace().empty() ||
        absl::StrContains(entry.source_filename(), "/protobuf/"))
      return;
    Tell(entry.log_severity(), entry.text_message(), entry.source_basename(),
         entry.source_line());
  }
};

Sink sink;

void Listen() {
  absl::SetStderrThreshold(absl::LogSeverityAtLeast::kInfinity);
  absl::AddLogSink(&sink);
}
void Ignore() { absl::RemoveLogSink(&sink); }

#endif

}  // namespace

GrpcLog::GrpcLog(const Log& log) {
  {
    const std::lock_guard lock(mutex);
    current = &log;
  }
  Listen();
}

GrpcLog::~GrpcLog() {
  Ignore();
  const std::lock_guard lock(mutex);
  current = nullptr;
}

}  // namespace axis
