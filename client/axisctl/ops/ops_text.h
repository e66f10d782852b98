// Ops as the user of axisctl writes and reads them. Reads the schema by
// reflection, so that a new op of the contract needs nothing here.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "axis/v1/ops.pb.h"

namespace axis {

namespace pb = ::axis::v1;

// The text of ops.proto, comments included.
extern const char kOpsProto[];

// The names of the ops, as they are spelled on the command line.
std::vector<std::string> OpNames();

// Reads `OP ATTRIBUTES [OP ATTRIBUTES]...`: the name of a field of `pb::Op`
// and the text format of that field, in turn.
// Errors: no such op; an op without attributes; text that does not parse
absl::StatusOr<std::vector<pb::Op>> ParseOps(
    absl::Span<const std::string> words);

// What the contract says of an op: its message, comments and all.
// Errors: no such op
absl::StatusOr<std::string> DescribeOp(absl::string_view name);

}  // namespace axis
