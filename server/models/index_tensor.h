// Index tensors: the numbers of an op that come as a tensor of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "axis/v1/tensor.pb.h"
#include "kernels/view.h"
#include "server/wire/payload.h"

namespace axis {

namespace pb = ::axis::v1;

struct IndexTensor {
  Shape shape;
  std::vector<int64_t> values;
};

// Reads `data`, elements of any integer type of 8 bits or more.
// Errors: "<path>"     of another type, or more elements than any op needs
//         "<path>[i]"  does not fit int64: no number is ever cut short
absl::StatusOr<IndexTensor> ReadIndex(pb::DataType type, const Shape& shape,
                                      const Payload& data,
                                      absl::string_view path);

}  // namespace axis
