// The log: one line an event, for people or as JSON, on standard error.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

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
            std::initializer_list<LogField> fields = {}) const;
  void Warning(absl::string_view event,
               std::initializer_list<LogField> fields = {}) const;
  void Error(absl::string_view event,
             std::initializer_list<LogField> fields = {}) const;

 private:
  void Write(const char* severity, absl::string_view event,
             std::initializer_list<LogField> fields) const;

  const Format format_;
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
