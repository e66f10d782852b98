// The first complaint of protobuf's parser of text, which would else go to the
// log. Protobuf asks for it by another name from version 22 on.
#pragma once

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/stubs/common.h>

#include <string>

#include "absl/strings/string_view.h"

namespace axis {

class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
#if GOOGLE_PROTOBUF_VERSION >= 4022000
  void RecordError(int line, int column, absl::string_view what) override {
    Keep(line, column, what);
  }
#else
  void AddError(int line, int column, const std::string& what) override {
    Keep(line, column, what);
  }
#endif

  // Counted from 1; 0 where the parser does not know.
  int line() const { return line_; }
  int column() const { return column_; }
  const std::string& what() const { return what_; }

 private:
  void Keep(int line, int column, absl::string_view what) {
    if (!what_.empty()) return;
    line_ = line + 1;
    column_ = column + 1;
    what_ = std::string(what);
  }

  int line_ = 0;
  int column_ = 0;
  std::string what_;
};

}  // namespace axis
