// Files as axisctl needs them: in pieces or whole, "-" for the standard ones,
// and with errors that name the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace axis {

// What is read whole has less than 2 GiB.
inline constexpr size_t kMaxFileBytes = std::numeric_limits<int>::max();

// An open file, closed at the end unless it is one of the standard ones.
class File {
 public:
  // "-" is standard input. Errors: cannot be read
  static absl::StatusOr<File> Open(const std::string& name);
  // Replaces the file; "-" is standard output. Errors: cannot be written
  static absl::StatusOr<File> Create(const std::string& name);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  const std::string& name() const { return name_; }
  // The bytes of a regular file; 0 if unknown.
  int64_t size() const { return size_; }

  // Reads until there are `size` bytes at `out` or the file ends, and returns
  // how many there are.
  absl::StatusOr<size_t> Read(char* out, size_t size);

  // Writes all of it.
  absl::Status Write(absl::string_view bytes);

  // The end of what was written: some file systems say only now that it failed.
  absl::Status Close();

 private:
  File(std::string name, int fd, bool owned);
  absl::Status Failed(absl::string_view verb) const;  // as errno says

  std::string name_;
  int fd_;
  bool owned_;
  int64_t size_ = 0;
};

// `begun` and after it the rest of `file`.
// Errors: cannot be read, or more than `kMaxFileBytes`
absl::StatusOr<std::string> ReadRest(File& file, std::string begun);

// The bytes of a file. Errors: as above
absl::StatusOr<std::string> ReadFile(const std::string& name);

}  // namespace axis
