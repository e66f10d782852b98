// The log: one line an event, for people or as JSON, on standard error.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/watch/log_writer.h"

namespace axis {

// A named value of a log line.
struct LogField {
  LogField(absl::string_view name, absl::string_view text);
  LogField(absl::string_view name, const char* text);
  LogField(absl::string_view name, const std::string& text);
  LogField(absl::string_view name, int64_t number);
  LogField(absl::string_view name, int number);
  LogField(absl::string_view name, double number);

  std::string name;
  std::string value;
  bool quoted;  // text, not a number
};

// Thread-safe; every line is written whole.
class Log {
 public:
  enum class Format { kText, kJson };

  explicit Log(Format format) : format_(format) {}

  void Info(absl::string_view event,
            absl::Span<const LogField> fields = {}) const;
  void Warning(absl::string_view event,
               absl::Span<const LogField> fields = {}) const;
  void Error(absl::string_view event,
             absl::Span<const LogField> fields = {}) const;
  // Written at once: the process is about to end.
  void Fatal(absl::string_view event,
             absl::Span<const LogField> fields = {}) const;

  // From here on lines are written by a thread of their own, and nobody waits
  // for it. Until then they are written at once.
  void StartWriter();

  // Lines that nobody could be brought to take.
  int64_t dropped() const { return writer_ ? writer_->dropped() : 0; }

 private:
  std::string LineOf(const char* severity, absl::string_view event,
                     absl::Span<const LogField> fields) const;
  void Write(const std::string& line) const;

  const Format format_;
  std::unique_ptr<LogWriter> writer_;
};

// Thins out what would be logged too often. Thread-safe.
class OncePerSecond {
 public:
  // How often this was asked since it was last due, this time included; 0 if
  // it is not due.
  int64_t Due();

 private:
  std::atomic<int64_t> last_{0};  // Unix seconds
  std::atomic<int64_t> times_{0};
};

// Protobuf would write a line for every request that is not UTF-8.
void SilenceProtobuf();

}  // namespace axis
