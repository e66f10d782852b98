// What the wire's element types are: how wide, how many of them a shape calls
// for, and which numbers the bits of the floats stand for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "axis/v1/tensor.pb.h"
#include "kernels/view.h"

namespace axis {

namespace pb = ::axis::v1;

// The most axes that a tensor may have.
inline constexpr int kMaxRank = 32;

// The bits of an element; 0 for STRING, whose elements have no fixed width,
// and for whatever is not a type.
int BitsOf(pb::DataType type);

// The name for people: "F32". A number if it is not a type.
std::string NameOf(pb::DataType type);

// The size of a tensor.
struct TensorSize {
  int64_t elements;  // 1 for the shape [], and 0 if an extent is
  int64_t bytes;     // stored with its layout; STRING: of the lengths alone
};

// Errors: "data_type"  is unset or not a type
//         "shape[i]"   is negative
//         "shape"      has more than kMaxRank extents; or the product of the
//                      non-zero ones, or its bytes, do not fit 63 bits
// REQUIRES: layout == kRowMajor if the rank is below 2, or `type` not of whole
// bytes.
absl::StatusOr<TensorSize> SizeOf(pb::DataType type,
                                  absl::Span<const int64_t> shape,
                                  Layout layout = kRowMajor);

// The bits that stand for `value` in a float type, or in one part of a complex
// one. F32 rounds to nearest. A NaN gives any NaN of the type. nullopt if F32
// would overflow, or another type has no such number: F8E4M3 is the FN variant,
// without infinities, F8E8M0 a power of two, NF4 the table of QLoRA.
// REQUIRES: `type` is a float type.
std::optional<uint64_t> EncodeFloat(pb::DataType type, double value);

// The number that `code` stands for.
// REQUIRES: `type` is a float type; `code` fits it, or one part of it.
double DecodeFloat(pb::DataType type, uint64_t code);

}  // namespace axis
