#include "server/process/log.h"

#include <poll.h>
#include <unistd.h>

// Protobuf before 22 has a log of its own, later ones use that of Abseil.
#if __has_include(<google/protobuf/stubs/logging.h>)
#include <google/protobuf/stubs/logging.h>
#else
#include "absl/log/globals.h"
#include "absl/log/initialize.h"
#endif

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace axis {
namespace {

// A line must fit the PIPE_BUF bytes that a pipe takes at once.
constexpr size_t kMaxText = 1024;

// `text`, cut between two characters of UTF-8 if it is too long.
std::string Shortened(absl::string_view text) {
  if (text.size() <= kMaxText) return std::string(text);
  size_t end = kMaxText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  return absl::StrCat(text.substr(0, end), "...");
}

// A log that cannot be written must not stop the server: where nobody reads on,
// the line is dropped. A pipe that is ready has room for PIPE_BUF bytes.
void WriteAtOnce(const std::string& line) {
  pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return;
  // One write, so that lines of several threads do not mix.
  [[maybe_unused]] const ssize_t n =
      write(STDERR_FILENO, line.data(), line.size());
}

// `text` as a JSON string. Bytes outside ASCII are taken as UTF-8.
std::string Quoted(absl::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&out, "\\u%04x", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace

LogField::LogField(absl::string_view n, absl::string_view text)
    : name(n), value(Shortened(text)), quoted(true) {}
LogField::LogField(absl::string_view n, const char* text)
    : LogField(n, absl::string_view(text)) {}
LogField::LogField(absl::string_view n, const std::string& text)
    : LogField(n, absl::string_view(text)) {}
LogField::LogField(absl::string_view n, int64_t number)
    : name(n), value(absl::StrCat(number)), quoted(false) {}
LogField::LogField(absl::string_view n, int number)
    : LogField(n, int64_t{number}) {}
LogField::LogField(absl::string_view n, double number)
    : name(n), value(absl::StrFormat("%.6f", number)), quoted(false) {}

void Log::Info(absl::string_view event,
               absl::Span<const LogField> fields) const {
  Write(LineOf("info", event, fields));
}
void Log::Warning(absl::string_view event,
                  absl::Span<const LogField> fields) const {
  Write(LineOf("warning", event, fields));
}
void Log::Error(absl::string_view event,
                absl::Span<const LogField> fields) const {
  Write(LineOf("error", event, fields));
}

void Log::Fatal(absl::string_view event,
                absl::Span<const LogField> fields) const {
  WriteAtOnce(LineOf("fatal", event, fields));
}

void Log::Write(const std::string& line) const {
  if (writer_ != nullptr) return writer_->Add(line);
  WriteAtOnce(line);
}

std::string Log::LineOf(const char* severity, absl::string_view event,
                        absl::Span<const LogField> fields) const {
  const std::string time = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(),
                                            absl::UTCTimeZone());
  std::string line;
  if (format_ == Format::kJson) {
    absl::StrAppend(&line, "{\"time\":\"", time, "\",\"severity\":\"", severity,
                    "\",\"event\":", Quoted(event));
    for (const LogField& field : fields)
      absl::StrAppend(&line, ",", Quoted(field.name), ":",
                      field.quoted ? Quoted(field.value) : field.value);
    line += "}\n";
  } else {
    absl::StrAppend(&line, time, " ", severity, " ", event);
    for (const LogField& field : fields)
      absl::StrAppend(&line, " ", field.name, "=",
                      field.quoted ? Quoted(field.value) : field.value);
    line += "\n";
  }
  return line;
}

void Log::StartWriter() {
  writer_ = std::make_unique<LogWriter>(STDERR_FILENO);
}

int64_t OncePerSecond::Due() {
  ++times_;
  const int64_t now = absl::ToUnixSeconds(absl::Now());
  int64_t last = last_;
  if (now == last || !last_.compare_exchange_strong(last, now)) return 0;
  return times_.exchange(0);
}

void SilenceProtobuf() {
#if __has_include(<google/protobuf/stubs/logging.h>)
  google::protobuf::SetLogHandler(nullptr);
#else
  absl::SetStderrThreshold(absl::LogSeverityAtLeast::kFatal);
  absl::InitializeLog();  // until then all of it goes there
#endif
}

}  // namespace axis
