#include "server/oip/message/region.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/status.h"
#include "server/process/out_of_memory.h"

namespace axis {
namespace {

constexpr char kBytes[] = "shared_memory_byte_size";
constexpr char kOffset[] = "shared_memory_offset";

}  // namespace

bool IsOfRegion(absl::string_view name) {
  return name == kRegionParameter || name == kBytes || name == kOffset;
}

const std::string& RegionOf(const Parameters& parameters) {
  return parameters.at(kRegionParameter).string_param();
}

absl::StatusOr<std::optional<Span>> FindSpan(const Parameters& parameters,
                                             const Regions& regions) {
  AXIS_ASSIGN_OR_RETURN(const auto name,
                        StringParameter(parameters, kRegionParameter));
  AXIS_ASSIGN_OR_RETURN(const auto size, IntParameter(parameters, kBytes));
  AXIS_ASSIGN_OR_RETURN(const auto offset, IntParameter(parameters, kOffset));
  if (!name) {
    if (!size && !offset) return std::nullopt;
    return FieldError(absl::StrCat("parameters.", kRegionParameter),
                      "must be set with the size or offset of a region");
  }
  if (!size)
    return FieldError(absl::StrCat("parameters.", kBytes),
                      "must be set with a region");
  AXIS_ASSIGN_OR_RETURN(auto region, regions.Find(*name));
  const int64_t begin = offset.value_or(0);
  if (begin < 0 || begin > region->byte_size())
    return FieldError(
        absl::StrCat("parameters.", kOffset),
        absl::StrCat("must lie in [0, ", region->byte_size(), "], is ", begin));
  if (*size < 0 || *size > region->byte_size() - begin)
    return FieldError(
        absl::StrCat("parameters.", kBytes),
        absl::StrCat("must lie in [0, ", region->byte_size() - begin, "], is ",
                     *size));
  return Span{std::move(region), begin, *size};
}

void SetRegion(const Span& span, const std::string& name,
               Parameters& parameters) {
  const WaitsForMemory scope;
  parameters[kRegionParameter].set_string_param(name);
  parameters[kBytes].set_int64_param(span.size);
  parameters[kOffset].set_int64_param(span.begin);
}

}  // namespace axis
