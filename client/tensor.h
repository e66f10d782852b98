// Tensors as the client sends and receives them: a header, and bytes that are
// shared and never copied on the way to or from the network.
#pragma once

#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "axis/v1/tensor.pb.h"
#include "grpcpp/support/slice.h"

namespace axis {

namespace pb = ::axis::v1;

// A run of bytes in pieces that are shared and never change. A copy copies
// references alone. Thread-safe as far as a const std::vector is.
class Bytes {
 public:
  Bytes() = default;

  // The contents of a string, or a vector of numbers, moved.
  template <typename Container>
  static Bytes Own(Container contents) {
    using Item = typename Container::value_type;
    static_assert(std::is_trivially_copyable_v<Item>);
    const auto owner = std::make_shared<const Container>(std::move(contents));
    return Share(owner->data(), owner->size() * sizeof(Item), owner);
  }

  // `size` bytes at `data`, which must be there and stay as they are as long as
  // `owner` is held: by this object, its copies, and gRPC, which may hold them
  // for a while after a call that failed. `owner` may be let go by any thread.
  static Bytes Share(const void* data, size_t size,
                     std::shared_ptr<const void> owner);

  size_t size() const { return size_; }
  const std::vector<grpc::Slice>& slices() const { return slices_; }

  void Append(grpc::Slice slice);
  void Append(const Bytes& more);

  // Bytes [begin, begin + size), shared.
  // REQUIRES: begin + size <= this->size()
  Bytes Sub(size_t begin, size_t size) const;

  // The pieces, to be read in place, at any alignment; an element may straddle
  // two. Valid while this object is neither moved nor changed.
  std::vector<absl::Span<const std::byte>> Pieces() const;

  // Gathers all `size()` bytes at `out`.
  void CopyTo(void* out) const;

 private:
  std::vector<grpc::Slice> slices_;  // none of them empty
  size_t size_ = 0;
};

// A dense tensor, as `axis.v1.Tensor` describes it.
struct Tensor {
  pb::DataType data_type = pb::DATA_TYPE_UNSPECIFIED;
  std::vector<int64_t> shape;
  Bytes data;
  pb::Layout layout = pb::LAYOUT_UNSPECIFIED;
};

// The bytes of `unit` bytes for every element of `shape`.
// Errors: they do not fit 63 bits, wherever a zero stands; a negative extent
absl::StatusOr<int64_t> ShapeBytes(absl::Span<const int64_t> shape,
                                   int64_t unit);

// The shape of the array in which a tensor of `shape` lies, row-major: [N, C,
// X] is [N, X, C] in `LAYOUT_NXC`, and [N, C/8 rounded up, X, 8] in
// `LAYOUT_NCX8C`. Errors: a layout that is unknown or needs more axes
absl::StatusOr<std::vector<int64_t>> StoredShape(
    pb::Layout layout, absl::Span<const int64_t> shape);

// The inverse; blocks are taken for full.
// Errors: as above; a last axis that is not the block
absl::StatusOr<std::vector<int64_t>> LogicalShape(
    pb::Layout layout, absl::Span<const int64_t> stored);

// The bytes of data that type, shape and layout of `header` call for.
// Errors: those of `ShapeBytes`; a type without a fixed size (`STRING`); a type
//     or a layout that is unset or unknown, or a layout that needs more axes
absl::StatusOr<int64_t> DataBytes(const Tensor& header);

// The data type of tensors whose elements are `T`. Types without a C++ type
// of their own (F16, BF16, U4...) are for the caller to pack, as the contract
// lays them out.
template <typename T>
inline constexpr pb::DataType kDataTypeOf = pb::DATA_TYPE_UNSPECIFIED;
template <>
inline constexpr pb::DataType kDataTypeOf<bool> = pb::DATA_TYPE_BOOL;
template <>
inline constexpr pb::DataType kDataTypeOf<uint8_t> = pb::DATA_TYPE_U8;
template <>
inline constexpr pb::DataType kDataTypeOf<int8_t> = pb::DATA_TYPE_I8;
template <>
inline constexpr pb::DataType kDataTypeOf<uint16_t> = pb::DATA_TYPE_U16;
template <>
inline constexpr pb::DataType kDataTypeOf<int16_t> = pb::DATA_TYPE_I16;
template <>
inline constexpr pb::DataType kDataTypeOf<uint32_t> = pb::DATA_TYPE_U32;
template <>
inline constexpr pb::DataType kDataTypeOf<int32_t> = pb::DATA_TYPE_I32;
template <>
inline constexpr pb::DataType kDataTypeOf<uint64_t> = pb::DATA_TYPE_U64;
template <>
inline constexpr pb::DataType kDataTypeOf<int64_t> = pb::DATA_TYPE_I64;
template <>
inline constexpr pb::DataType kDataTypeOf<float> = pb::DATA_TYPE_F32;
template <>
inline constexpr pb::DataType kDataTypeOf<double> = pb::DATA_TYPE_F64;
template <>
inline constexpr pb::DataType kDataTypeOf<std::complex<float>> =
    pb::DATA_TYPE_C64;
template <>
inline constexpr pb::DataType kDataTypeOf<std::complex<double>> =
    pb::DATA_TYPE_C128;

// A tensor of `elements` in row-major order, without a copy; the server checks
// that `shape` holds as many.
template <typename T>
Tensor MakeTensor(std::vector<int64_t> shape, std::vector<T> elements) {
  static_assert(std::endian::native == std::endian::little);
  static_assert(kDataTypeOf<T> != pb::DATA_TYPE_UNSPECIFIED);
  static_assert(!std::is_same_v<T, bool>, "vector<bool> holds no bytes: Share");
  return {kDataTypeOf<T>, std::move(shape), Bytes::Own(std::move(elements))};
}

// The elements of `tensor`, gathered, in the order of its layout. To gather
// into memory of your own use `tensor.data.CopyTo`.
// Errors: "data_type"  is not that of `T`
//         "data"       holds a fraction of an element
template <typename T>
absl::StatusOr<std::vector<T>> Elements(const Tensor& tensor) {
  static_assert(std::endian::native == std::endian::little);
  static_assert(kDataTypeOf<T> != pb::DATA_TYPE_UNSPECIFIED);
  static_assert(!std::is_same_v<T, bool>, "vector<bool> holds no bytes");
  if (tensor.data_type != kDataTypeOf<T>)
    return absl::InvalidArgumentError(
        absl::StrCat("data_type: must be ", pb::DataType_Name(kDataTypeOf<T>),
                     ", is ", pb::DataType_Name(tensor.data_type)));
  if (tensor.data.size() % sizeof(T) != 0)
    return absl::InvalidArgumentError("data: holds a fraction of an element");
  std::vector<T> elements(tensor.data.size() / sizeof(T));
  tensor.data.CopyTo(elements.data());
  return elements;
}

}  // namespace axis
