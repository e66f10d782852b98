#include "client/npy/npy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace axis {
namespace {

std::string Name(pb::DataType data_type) {
  return std::string(
      absl::StripPrefix(pb::DataType_Name(data_type), "DATA_TYPE_"));
}

// `data`, which holds `shape` with the first axis fastest, with the last axis
// fastest. Walks the result in order and keeps count of the source.
template <size_t kBytes>
std::string ToRowMajor(absl::string_view data,
                       const std::vector<int64_t>& shape) {
  std::string result(data.size(), '\0');
  const size_t rank = shape.size();
  std::vector<size_t> index(rank), stride(rank);
  size_t bytes = kBytes;
  for (size_t axis = 0; axis < rank; ++axis) {
    stride[axis] = bytes;
    bytes *= static_cast<size_t>(shape[axis]);
  }
  size_t from = 0;
  for (size_t to = 0; to < result.size(); to += kBytes) {
    std::memcpy(&result[to], &data[from], kBytes);
    for (size_t axis = rank; axis-- > 0;) {
      from += stride[axis];
      if (++index[axis] < static_cast<size_t>(shape[axis])) break;
      from -= stride[axis] * index[axis];
      index[axis] = 0;
    }
  }
  return result;
}

std::string ToRowMajor(absl::string_view data, const NpyHeader& header) {
  switch (header.item_bytes) {
    case 1:
      return ToRowMajor<1>(data, header.shape);
    case 2:
      return ToRowMajor<2>(data, header.shape);
    case 4:
      return ToRowMajor<4>(data, header.shape);
    case 8:
      return ToRowMajor<8>(data, header.shape);
    default:
      return ToRowMajor<16>(data, header.shape);
  }
}

// The type of the elements of the tensor.
absl::StatusOr<pb::DataType> TypeOf(const NpyHeader& header,
                                    const NpyReading& reading) {
  const auto refused = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("descr '", header.descr, "': ", why));
  };
  if (reading.data_type == pb::DATA_TYPE_UNSPECIFIED) {
    if (header.data_type == pb::DATA_TYPE_UNSPECIFIED)
      return refused("raw items; say what they are, such as --dtype=BF16");
    return header.data_type;
  }
  const NpyType* const type = FindNpyType(reading.data_type);
  if (type != nullptr && type->item_bytes != header.item_bytes)
    return refused(absl::StrCat("items must have the ", type->item_bytes,
                                " bytes of ", Name(reading.data_type)));
  if (type == nullptr && (header.item_bytes != 1 || !reading.shape))
    return refused(absl::StrCat("to be read as ", Name(reading.data_type),
                                ", items must be bytes, and the shape given"));
  return reading.data_type;
}

}  // namespace

absl::StatusOr<Tensor> NpyTensor(const NpyHeader& header,
                                 const NpyReading& reading) {
  const absl::StatusOr<pb::DataType> data_type = TypeOf(header, reading);
  if (!data_type.ok()) return data_type.status();
  Tensor tensor;
  tensor.data_type = *data_type;
  tensor.layout = reading.layout;
  absl::StatusOr<std::vector<int64_t>> shape =
      LogicalShape(reading.layout, header.shape);
  if (reading.shape) shape = *reading.shape;
  if (!shape.ok()) return shape.status();
  tensor.shape = *std::move(shape);
  return tensor;
}

void ToLittleEndian(const NpyHeader& header, char* data, size_t size) {
  if (!header.big_endian) return;
  const bool complex = header.data_type == pb::DATA_TYPE_C64 ||
                       header.data_type == pb::DATA_TYPE_C128;
  const size_t number_bytes =
      static_cast<size_t>(complex ? header.item_bytes / 2 : header.item_bytes);
  for (size_t at = 0; at < size; at += number_bytes)
    std::reverse(data + at, data + at + number_bytes);
}

absl::Status WrongNpySize(const NpyHeader& header, uint64_t bytes) {
  return absl::InvalidArgumentError(absl::StrCat(
      "must hold the ", header.data_bytes, " bytes of ", "descr '",
      header.descr, "' and shape [", absl::StrJoin(header.shape, ", "),
      "] after its header, holds ", bytes));
}

absl::StatusOr<Tensor> ReadNpy(std::string file, const NpyReading& reading) {
  const absl::StatusOr<NpyHeader> header = ParseNpyHeader(file);
  if (!header.ok()) return header.status();
  absl::StatusOr<Tensor> tensor = NpyTensor(*header, reading);
  if (!tensor.ok()) return tensor.status();
  const size_t bytes = file.size() - header->data_offset;
  if (bytes != static_cast<uint64_t>(header->data_bytes))
    return WrongNpySize(*header, bytes);

  ToLittleEndian(*header, &file[header->data_offset], bytes);
  if (header->fortran_order && header->shape.size() > 1)
    tensor->data = Bytes::Own(ToRowMajor(
        absl::string_view(file).substr(header->data_offset), *header));
  else
    tensor->data = Bytes::Own(std::move(file)).Sub(header->data_offset, bytes);
  return tensor;
}

absl::StatusOr<std::string> NpyHeaderOf(const Tensor& tensor) {
  absl::StatusOr<int64_t> bytes = static_cast<int64_t>(tensor.data.size());
  if (tensor.data_type != pb::DATA_TYPE_STRING) bytes = DataBytes(tensor);
  if (!bytes.ok()) return bytes.status();
  const NpyType* const type = FindNpyType(tensor.data_type);
  if (type == nullptr)
    return FormatNpyHeader(FindNpyType(pb::DATA_TYPE_U8)->descr, {*bytes});
  const auto stored = StoredShape(tensor.layout, tensor.shape);
  if (!stored.ok()) return stored.status();
  return FormatNpyHeader(type->descr, *stored);
}

}  // namespace axis
