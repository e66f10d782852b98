// The attributes of the layers of an IR: what their texts mean.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "axis/v1/tensor.pb.h"
#include "kernels/view.h"
#include "server/models/ir/xml.h"

namespace axis {

namespace pb = ::axis::v1;

// Of `element_type`; nullopt if it is dynamic.
// Errors: kInvalidArgument  missing, or no type
absl::StatusOr<std::optional<pb::DataType>> TypeOf(const IrLayer& layer);

// Of `shape`, as IR has it: "1,3,?", "1..8,3"; nullopt for "...", any rank.
// Errors: kInvalidArgument  missing, or no shape
absl::StatusOr<std::optional<Shape>> ShapeOf(const IrLayer& layer);

// The number called `name`, or `otherwise`.
// Errors: kInvalidArgument  no number; or missing, and there is no other
absl::StatusOr<int64_t> NumberOf(const IrLayer& layer, const char* name,
                                 std::optional<int64_t> otherwise);

}  // namespace axis
