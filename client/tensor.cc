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

bool IsRowMajor(pb::Layout layout) {
  return layout == pb::LAYOUT_UNSPECIFIED || layout == pb::LAYOUT_NCX;
}

absl::Status NoLayout(pb::Layout layout, absl::Span<const int64_t> shape) {
  return absl::InvalidArgumentError(
      absl::StrCat("layout ", static_cast<int>(layout), " is not for shape [",
                   absl::StrJoin(shape, ", "), "]"));
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

absl::StatusOr<std::vector<int64_t>> StoredShape(
    pb::Layout layout, absl::Span<const int64_t> shape) {
  std::vector<int64_t> stored(shape.begin(), shape.end());
  const int64_t block = BlockOf(layout);
  if (IsRowMajor(layout)) return stored;
  if (block == 0 || stored.size() < 2 || stored[1] < 0)
    return NoLayout(layout, shape);
  const int64_t channels = stored[1];
  if (block == 1) {
    stored.erase(stored.begin() + 1);
    stored.push_back(channels);
  } else {
    stored[1] = channels / block + (channels % block != 0);
    stored.push_back(block);
  }
  return stored;
}

absl::StatusOr<std::vector<int64_t>> LogicalShape(
    pb::Layout layout, absl::Span<const int64_t> stored) {
  std::vector<int64_t> shape(stored.begin(), stored.end());
  const int64_t block = BlockOf(layout);
  if (IsRowMajor(layout)) return shape;
  if (block == 0 || shape.size() < (block == 1 ? 2 : 3) ||
      (block > 1 && shape.back() != block))
    return NoLayout(layout, stored);
  shape.pop_back();
  if (block == 1) {
    shape.insert(shape.begin() + 1, stored.back());
  } else if (__builtin_mul_overflow(shape[1], block, &shape[1])) {
    return NoLayout(layout, stored);
  }
  return shape;
}

absl::StatusOr<int64_t> DataBytes(const Tensor& header) {
  const int64_t bits = BitsOf(header.data_type);
  if (bits == 0 || (bits < 8 && !IsRowMajor(header.layout)))
    return absl::InvalidArgumentError(absl::StrCat(
        "no size follows from ", pb::DataType_Name(header.data_type), " in ",
        pb::Layout_Name(header.layout)));
  if (bits >= 8) {
    const auto stored = StoredShape(header.layout, header.shape);
    if (!stored.ok()) return stored.status();
    return ShapeBytes(*stored, bits / 8);
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
