#include "server/models/index_tensor.h"

#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/ops.h"
#include "kernels/status.h"
#include "server/elements/types.h"

namespace axis {

absl::StatusOr<IndexTensor> ReadIndex(pb::DataType type, const Shape& shape,
                                      const Payload& data,
                                      absl::string_view path) {
  const bool is_signed = type == pb::DATA_TYPE_I8 ||
                         type == pb::DATA_TYPE_I16 ||
                         type == pb::DATA_TYPE_I32 || type == pb::DATA_TYPE_I64;
  if (!is_signed && type != pb::DATA_TYPE_U8 && type != pb::DATA_TYPE_U16 &&
      type != pb::DATA_TYPE_U32 && type != pb::DATA_TYPE_U64)
    return FieldError(
        path, absl::StrCat("must be of an integer type, is ", NameOf(type)));
  const size_t width = static_cast<size_t>(BitsOf(type) / 8);
  const int64_t count = data.size() / static_cast<int64_t>(width);
  // A split has as many lengths as outputs, and no op needs more numbers.
  if (count > kMaxOutputs)
    return FieldError(path, absl::StrCat("must have at most ", kMaxOutputs,
                                         " elements, has ", count));
  std::string bytes;
  for (const auto span : data.Spans())
    bytes.append(reinterpret_cast<const char*>(span.data()), span.size());
  IndexTensor index{shape, {}};
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * width, width);
    const int unused = 64 - 8 * static_cast<int>(width);
    if (is_signed) {
      index.values.push_back(static_cast<int64_t>(bits << unused) >> unused);
    } else if (bits <= uint64_t{INT64_MAX}) {
      index.values.push_back(static_cast<int64_t>(bits));
    } else {
      return FieldError(absl::StrCat(path, "[", i, "]"),
                        absl::StrCat("must fit int64, is ", bits));
    }
  }
  return index;
}

}  // namespace axis
