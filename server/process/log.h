// The log: one line an event, for people or as JSON, on standard error.
#pragma once

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

// Protobuf would write a line for every request that is not UTF-8.
void SilenceProtobuf();

}  // namespace axis
