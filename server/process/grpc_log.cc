#include "server/process/grpc_log.h"

#include <grpcpp/version_info.h>

#if GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR < 65

#include <grpc/support/log.h>

#include "absl/base/const_init.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace axis {
namespace {

// gRPC's threads may outlive the log.
ABSL_CONST_INIT absl::Mutex mutex(absl::kConstInit);
const Log* current ABSL_GUARDED_BY(mutex) = nullptr;

// Nothing but errors, unless GRPC_VERBOSITY asks for more. What begins as
// GPR_ASSERT() begins is gRPC's last word.
void Take(gpr_log_func_args* args) {
  static OncePerSecond errors;
  const bool is_error = args->severity == GPR_LOG_SEVERITY_ERROR;
  const bool is_last = absl::StartsWith(args->message, "assertion failed");
  const int64_t times = is_error && !is_last ? errors.Due() : 1;
  if (times == 0) return;
  absl::string_view file = args->file;
  file.remove_prefix(file.rfind('/') + 1);  // npos + 1 is 0
  const LogField fields[] = {
      {"message", args->message},
      {"at", absl::StrCat(file, ":", args->line)},
      {"times", times},
  };
  const absl::MutexLock lock(&mutex);
  if (current == nullptr) return;
  if (is_last) return current->Fatal("grpc", fields);
  is_error ? current->Warning("grpc", fields) : current->Info("grpc", fields);
}

}  // namespace

GrpcLog::GrpcLog(const Log& log) {
  const absl::MutexLock lock(&mutex);
  current = &log;
  gpr_set_log_function(Take);
}

GrpcLog::~GrpcLog() {
  const absl::MutexLock lock(&mutex);
  current = nullptr;
}

}  // namespace axis

#else

namespace axis {

GrpcLog::GrpcLog(const Log&) {}
GrpcLog::~GrpcLog() = default;

}  // namespace axis

#endif
