// What the user of axisctl asked for: the only reader of its flags.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/npy/npy.h"

namespace axis {

struct CommandLine {
  std::vector<std::string> words;  // all that is not a flag
  std::string server;
  std::string metrics;   // HOST:PORT
  absl::Duration every;  // from one refresh of `top` to the next
  std::string output;    // a file name, "%d" for the number; empty is stdout
  int repeat;            // at least 1
  int64_t stream_above;  // bytes of data; at least 0
  absl::Duration timeout;
  std::string tls_ca, tls_cert, tls_key;  // file names; plaintext if all empty
  NpyReading reading;
};

// Reads the arguments. Flags may stand anywhere before "--", as `--name=value`
// or `--name value`. "--help" and "--version" become the word without dashes.
// Errors: no such flag, or a value that it does not take
absl::StatusOr<CommandLine> ParseCommandLine(int argc, char** argv);

// The flags and what they are for, a line each.
std::string DescribeFlags();

}  // namespace axis
