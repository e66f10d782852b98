// Whole files in and out, as axisctl needs them: bounded, with progress, and
// with errors that name the file.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace axis {

// One message holds less than 2 GiB, whatever the server allows.
inline constexpr size_t kMaxFileBytes = std::numeric_limits<int>::max();

// The bytes of a file; "-" is standard input.
// Errors: cannot be read, or has more than `kMaxFileBytes`
absl::StatusOr<std::string> ReadFile(const std::string& name);

// Writes `head` and `body` to a file, replacing it; "-" is standard output.
// Errors: cannot be written
absl::Status WriteFile(const std::string& name, absl::string_view head,
                       absl::string_view body);

}  // namespace axis
