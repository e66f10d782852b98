#include "server/models/ir/attributes.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/elements/datatypes.h"
#include "server/elements/types.h"

namespace axis {
namespace {

absl::Status Bad(absl::string_view why) {
  return absl::InvalidArgumentError(why);
}

}  // namespace

absl::StatusOr<std::optional<pb::DataType>> TypeOf(const IrLayer& layer) {
  const auto it = layer.data.find("element_type");
  if (it == layer.data.end()) return Bad("has no element_type");
  const std::string& name = it->second;
  if (name == "dynamic" || name == "undefined") return std::nullopt;
  const auto type = name == "boolean" ? pb::DATA_TYPE_BOOL
                                      : TypeOfName(absl::AsciiStrToUpper(name));
  if (!type) return Bad(absl::StrCat("element_type is unknown: ", name));
  return type;
}

absl::StatusOr<std::optional<Shape>> ShapeOf(const IrLayer& layer) {
  const auto it = layer.data.find("shape");
  if (it == layer.data.end()) return Bad("has no shape");
  const std::string& text = it->second;
  if (text == "...") return std::nullopt;
  Shape shape;
  if (text.empty()) return shape;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    part = absl::StripAsciiWhitespace(part);
    int64_t extent = -1;
    const bool is_dynamic =
        part == "?" || part == "-1" || absl::StrContains(part, "..");
    if (!is_dynamic && (!absl::SimpleAtoi(part, &extent) || extent < 0))
      return Bad(absl::StrCat("shape is no shape: ", text));
    if (shape.size() == kMaxRank)
      return Bad(
          absl::StrCat("shape must have at most ", kMaxRank, " extents"));
    shape.push_back(extent);
  }
  return shape;
}

absl::StatusOr<int64_t> NumberOf(const IrLayer& layer, const char* name,
                                 std::optional<int64_t> otherwise) {
  const auto it = layer.data.find(name);
  if (it == layer.data.end()) {
    if (otherwise) return *otherwise;
    return Bad(absl::StrCat("has no ", name));
  }
  int64_t number;
  if (absl::SimpleAtoi(it->second, &number)) return number;
  return Bad(absl::StrCat(name, " must be a number, is ", it->second));
}

}  // namespace axis
