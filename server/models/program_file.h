// Named programs: an axis.v1.Program in protobuf's text format as a model.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/models/model.h"

namespace axis {

// Errors: kInvalidArgument  not an axis.v1.Program, with line and column
//         "name", "input...", "ops...", "ops[k]..."
absl::StatusOr<std::unique_ptr<Model>> LoadProgram(const std::string& path);

// Checks what can be checked before a request comes: what the constraints of
// the inputs say, and where they say all, that the graph is allowed on them.
// Errors: "inputs.<name>", and those of CompileProgram
absl::Status CheckAhead(const Model& model, const Graph& graph);

// "output", or "output_0", "output_1"... if `count` is not 1.
std::vector<std::string> OutputNames(size_t count);

}  // namespace axis
