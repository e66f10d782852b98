// Parameters of the Open Inference Protocol: named values of several types.
#pragma once

#include <google/protobuf/map.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "inference/infer.pb.h"

namespace axis {

namespace oip = ::inference;

using Parameters = google::protobuf::Map<std::string, oip::InferParameter>;

// The value of `name`; nullopt if it is not there. int64_param, or uint64_param
// if it fits.
// Errors: "parameters.<name>"  is of another type, or too large
absl::StatusOr<std::optional<int64_t>> IntParameter(
    const Parameters& parameters, const std::string& name);

// The value of `name`; nullopt if it is not there.
// Errors: "parameters.<name>"  is of another type
absl::StatusOr<std::optional<std::string>> StringParameter(
    const Parameters& parameters, const std::string& name);

// Whether stock clients send `name` with any request, whatever the model.
bool IsOfClients(absl::string_view name);

}  // namespace axis
