#include "client/tensor.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_join.h"

namespace axis {
namespace {

// Bits an element; 0 for types without a fixed size and for no types.
int64_t BitsOf(pb::DataType type) {
  switch (type) {
    case pb::DATA_TYPE_BOOL:
    case pb::DATA_TYPE_U8:
    case pb::DATA_TYPE_I8:
    case pb::DATA_TYPE_F8E4M3:
    case pb::DATA_TYPE_F8E5M2:
    case pb::DATA_TYPE_F8E8M0:
      return 8;
    case pb::DATA_TYPE_U16:
    case pb::DATA_TYPE_I16:
    case pb::DATA_TYPE_F16:
    case pb::DATA_TYPE_BF16:
      return 16;
    case pb::DATA_TYPE_U32:
    case pb::DATA_TYPE_I32:
    case pb::DATA_TYPE_F32:
      return 32;
    case pb::DATA_TYPE_U64:
    case pb::DATA_TYPE_I64:
    case pb::DATA_TYPE_F64:
    case pb::DATA_TYPE_C64:
      return 64;
    case pb::DATA_TYPE_C128:
      return 128;
    case pb::DATA_TYPE_U4:
    case pb::DATA_TYPE_I4:
    case pb::DATA_TYPE_NF4:
    case pb::DATA_TYPE_F4E2M1:
      return 4;
    case pb::DATA_TYPE_U1:
      return 1;
    case pb::DATA_TYPE_U2:
      return 2;
    case pb::DATA_TYPE_U3:
      return 3;
    case pb::DATA_TYPE_U6:
      return 6;
    default:
      return 0;
  }
}

// Channels in a block; 0 for no layout that we know.
int64_t BlockOf(pb::Layout layout) {
  switch (layout) {
    case pb::LAYOUT_UNSPECIFIED:
    case pb::LAYOUT_NCX:
    case pb::LAYOUT_NXC:
      return 1;
    case pb::LAYOUT_NCX4C:
      return 4;
    case pb::LAYOUT_NCX8C:
      return 8;
    case pb::LAYOUT_NCX16C:
      return 16;
    default:
      return 0;
  }
}

void DropOwner(void* owner) {
  delete static_cast<std::shared_ptr<const void>*>(owner);
}

}  // namespace

Bytes Bytes::Share(const void* data, size_t size,
                   std::shared_ptr<const void> owner) {
  Bytes bytes;
  if (size == 0) return bytes;
  // gRPC takes plain pointers, and writes through none of them.
  bytes.Append(grpc::Slice(const_cast<void*>(data), size, DropOwner,
                           new std::shared_ptr<const void>(std::move(owner))));
  return bytes;
}

void Bytes::Append(grpc::Slice slice) {
  if (slice.size() == 0) return;
  size_ += slice.size();
  slices_.push_back(std::move(slice));
}

void Bytes::Append(const Bytes& more) {
  for (size_t i = 0, n = more.slices_.size(); i < n; ++i)
    Append(grpc::Slice(more.slices_[i]));
}

Bytes Bytes::Sub(size_t begin, size_t size) const {
  Bytes result;
  for (const grpc::Slice& slice : slices_) {
    if (size == 0) break;
    if (begin >= slice.size()) {
      begin -= slice.size();
      continue;
    }
    const size_t take = std::min(size, slice.size() - begin);
    result.Append(take == slice.size() ? slice
                                       : slice.sub(begin, begin + take));
    size -= take;
    begin = 0;
  }
  return result;
}

std::vector<absl::Span<const std::byte>> Bytes::Pieces() const {
  std::vector<absl::Span<const std::byte>> pieces;
  pieces.reserve(slices_.size());
  for (const grpc::Slice& slice : slices_)
    pieces.emplace_back(reinterpret_cast<const std::byte*>(slice.begin()),
                        slice.size());
  return pieces;
}

void Bytes::CopyTo(void* out) const {
  auto* to = static_cast<std::byte*>(out);
  for (const grpc::Slice& slice : slices_) {
    std::memcpy(to, slice.begin(), slice.size());
    to += slice.size();
  }
}

absl::StatusOr<int64_t> ShapeBytes(absl::Span<const int64_t> shape,
                                   int64_t unit) {
  int64_t bytes = unit;
  bool empty = false, good = true;
  for (const int64_t extent : shape) {
    if (extent == 0) empty = true;
    good = good && extent >= 0 &&
           (extent == 0 || !__builtin_mul_overflow(bytes, extent, &bytes));
  }
  if (!good)
    return absl::InvalidArgumentError(
        absl::StrCat("the bytes of shape [", absl::StrJoin(shape, ", "),
                     "] must fit 63 bits, and no extent be negative"));
  return empty ? 0 : bytes;
}

absl::StatusOr<int64_t> DataBytes(const Tensor& header) {
  const int64_t bits = BitsOf(header.data_type);
  const int64_t block = BlockOf(header.layout);
  const bool row_major = header.layout == pb::LAYOUT_UNSPECIFIED ||
                         header.layout == pb::LAYOUT_NCX;
  if (bits == 0 || block == 0 ||
      (!row_major && (bits < 8 || header.shape.size() < 2)))
    return absl::InvalidArgumentError(absl::StrCat(
        "no size follows from data type ", static_cast<int>(header.data_type),
        " in layout ", static_cast<int>(header.layout), " and ",
        header.shape.size(), " axes"));
  if (bits >= 8) {
    std::vector<int64_t> shape = header.shape;
    int64_t padded = 0;
    if (block > 1 && __builtin_add_overflow(shape[1], block - 1, &padded))
      return ShapeBytes({INT64_MAX, 2}, 1);
    if (block > 1 && shape[1] > 0) shape[1] = padded / block * block;
    return ShapeBytes(shape, bits / 8);
  }
  const absl::StatusOr<int64_t> elements = ShapeBytes(header.shape, 1);
  if (!elements.ok()) return elements;
  // Whole units: 3 bytes hold 8 `U3` or 4 `U6`, one holds 8, 4 or 2 others.
  const int64_t unit = bits % 3 == 0 ? 3 : 1;
  const int64_t per_unit = unit * 8 / bits;
  const int64_t units = *elements / per_unit + (*elements % per_unit != 0);
  return ShapeBytes({units}, unit);
}

}  // namespace axis
