#include "server/models/parameters.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/status.h"

namespace axis {
namespace {

absl::Status WrongType(const std::string& name, absl::string_view allowed) {
  return FieldError(absl::StrCat("parameters.", name),
                    absl::StrCat("must be ", allowed));
}

}  // namespace

absl::StatusOr<std::optional<int64_t>> IntParameter(
    const Parameters& parameters, const std::string& name) {
  const auto it = parameters.find(name);
  if (it == parameters.end()) return std::nullopt;
  const oip::InferParameter& value = it->second;
  if (value.has_int64_param()) return value.int64_param();
  if (value.has_uint64_param() && value.uint64_param() <= INT64_MAX)
    return static_cast<int64_t>(value.uint64_param());
  return WrongType(name, "an int64_param");
}

absl::StatusOr<std::optional<std::string>> StringParameter(
    const Parameters& parameters, const std::string& name) {
  const auto it = parameters.find(name);
  if (it == parameters.end()) return std::nullopt;
  if (it->second.has_string_param()) return it->second.string_param();
  return WrongType(name, "a string_param");
}

bool IsOfClients(absl::string_view name) {
  for (const absl::string_view known :
       {"sequence_id", "sequence_start", "sequence_end", "priority", "timeout",
        "binary_data_output"})
    if (name == known) return true;
  return absl::StartsWith(name, "triton_");
}

}  // namespace axis
