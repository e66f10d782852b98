// The names that the Open Inference Protocol has for element types.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "axis/v1/tensor.pb.h"

namespace axis {

namespace pb = ::axis::v1;

// "FP32" for F32; "" if the protocol has no name for the type.
absl::string_view DatatypeOf(pb::DataType type);

// The type of a name of the protocol.
std::optional<pb::DataType> TypeOfDatatype(absl::string_view datatype);

// The type of a name of axis.v1: "F8E4M3".
std::optional<pb::DataType> TypeOfName(absl::string_view name);

}  // namespace axis
