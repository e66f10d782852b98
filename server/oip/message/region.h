// The parameters of tensors that lie in shared memory: which region, and where
// in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/models/parameters.h"
#include "server/shm/regions.h"

namespace axis {

// The one without which there are no others.
inline constexpr char kRegionParameter[] = "shared_memory_region";

// Whether `name` is one of them.
bool IsOfRegion(absl::string_view name);

// The name of the region that `parameters` name.
// REQUIRES: FindSpan() found one.
const std::string& RegionOf(const Parameters& parameters);

// The bytes of a region that `parameters` name; nullopt if they name none.
// Errors: "parameters.shared_memory_..."  is missing, negative, of another
//                                         type, or past the end of the region
//         kNotFound                       no such region
absl::StatusOr<std::optional<Span>> FindSpan(const Parameters& parameters,
                                             const Regions& regions);

// Tells that a tensor lies in `span` of region `name`.
void SetRegion(const Span& span, const std::string& name,
               Parameters& parameters);

}  // namespace axis
