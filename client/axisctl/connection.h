// How axisctl reaches the server, and how it tells the user what went wrong.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/axisctl/command_line.h"
#include "client/client.h"

namespace axis {

enum ExitStatus { kDone = 0, kRefused = 1, kFailed = 2 };

// A client of the server that the user named, with the keys that they named.
// Errors: a file cannot be read, or is not PEM
absl::StatusOr<std::unique_ptr<Client>> Connect(const CommandLine& line);

// Tells the user of a failure on our side.
ExitStatus Complain(absl::string_view message);

// Tells the user of the error of a call: a refusal, or a failure.
ExitStatus Report(const absl::Status& status, const CommandLine& line);

}  // namespace axis
