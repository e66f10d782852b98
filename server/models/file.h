// Files that models come from, which may be anything and may change.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace axis {

// A regular file, open for reading.
class File {
 public:
  // Errors: kNotFound  cannot be opened, or is not a regular file
  static absl::StatusOr<File> Open(const std::string& path);
  File(File&& other) noexcept
      : descriptor_(other.descriptor_), size_(other.size_) {
    other.descriptor_ = -1;
  }
  ~File();
  File& operator=(const File&) = delete;

  int64_t size() const { return size_; }

  // Errors: kDataLoss  the file ends before that
  // REQUIRES: 0 <= begin, 0 <= size.
  absl::StatusOr<std::string> Read(int64_t begin, int64_t size) const;

 private:
  File(int descriptor, int64_t size) : descriptor_(descriptor), size_(size) {}

  int descriptor_;
  int64_t size_;
};

// All of a file.
// Errors: as above; kInvalidArgument  has more than `max_bytes`
absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     int64_t max_bytes);

}  // namespace axis
