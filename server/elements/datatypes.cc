#include "server/elements/datatypes.h"

#include "absl/strings/str_cat.h"

namespace axis {
namespace {

struct Datatype {
  absl::string_view name;
  pb::DataType type;
};

constexpr Datatype kDatatypes[] = {
    {"BOOL", pb::DATA_TYPE_BOOL},    {"UINT8", pb::DATA_TYPE_U8},
    {"UINT16", pb::DATA_TYPE_U16},   {"UINT32", pb::DATA_TYPE_U32},
    {"UINT64", pb::DATA_TYPE_U64},   {"INT8", pb::DATA_TYPE_I8},
    {"INT16", pb::DATA_TYPE_I16},    {"INT32", pb::DATA_TYPE_I32},
    {"INT64", pb::DATA_TYPE_I64},    {"FP16", pb::DATA_TYPE_F16},
    {"FP32", pb::DATA_TYPE_F32},     {"FP64", pb::DATA_TYPE_F64},
    {"BYTES", pb::DATA_TYPE_STRING}, {"BF16", pb::DATA_TYPE_BF16},
};

}  // namespace

absl::string_view DatatypeOf(pb::DataType type) {
  for (const Datatype& datatype : kDatatypes)
    if (datatype.type == type) return datatype.name;
  return "";
}

std::optional<pb::DataType> TypeOfDatatype(absl::string_view name) {
  for (const Datatype& datatype : kDatatypes)
    if (datatype.name == name) return datatype.type;
  return std::nullopt;
}

std::optional<pb::DataType> TypeOfName(absl::string_view name) {
  pb::DataType type;
  if (!pb::DataType_Parse(absl::StrCat("DATA_TYPE_", name), &type) ||
      type == pb::DATA_TYPE_UNSPECIFIED)
    return std::nullopt;
  return type;
}

}  // namespace axis
