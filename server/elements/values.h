// `Tensor.values`, elements spelled for people, to and from packed elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "axis/v1/tensor.pb.h"

namespace axis {

namespace pb = ::axis::v1;

// Checks that `values` spells `elements` elements of `type`, and in the right
// list; their numbers are left to PackValues. Returns the bytes they take when
// packed.
//
// Errors: "data_type"      is not a type
//         "values"         uses a list that does not fit the type
//         "values.floats"  (or another list) has not one entry an element
// REQUIRES: `elements` comes from SizeOf() (types.h).
absl::StatusOr<int64_t> ValuesBytes(const pb::Values& values, pb::DataType type,
                                    int64_t elements);

// Packs `values` into `dst`; unused bits become zero. A NaN becomes any NaN of
// the type.
//
// Errors: "values.ints[3]"  (or another list) is out of the range of the type,
//                           or not exactly representable in it; F32 rounds
// REQUIRES: ValuesBytes() has let `values` pass; dst.size() is what it
// returned.
absl::Status PackValues(const pb::Values& values, pb::DataType type,
                        std::span<std::byte> dst);

// Spells `elements` packed elements: the inverse of PackValues.
// REQUIRES: `src` is what PackValues writes for so many, in any order.
void UnpackValues(pb::DataType type, int64_t elements,
                  std::span<const std::byte> src, pb::Values& values);

}  // namespace axis
