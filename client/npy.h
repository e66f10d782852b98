// Reads and writes .npy, the file format of NumPy arrays, as tensors of the
// contract. Bytes in, bytes out: knows no files and no gRPC.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "axis/v1/tensor.pb.h"
#include "client/npy_header.h"

namespace axis {

// How to read a file other than as it says.
struct NpyReading {
  // What the elements are; unspecified for what the file says. NumPy knows
  // neither `BF16` nor the 8-bit floats and stores them as raw items, which
  // need this. It must be as wide as an item of the file; a type of no whole
  // number of bytes, and `STRING`, take 1-byte items and a `shape`.
  pb::DataType data_type = pb::DATA_TYPE_UNSPECIFIED;

  // The shape, if not that of the file. The server checks that it fits.
  std::optional<std::vector<int64_t>> shape;
};

// Reads a whole file into a row-major, little-endian tensor, whatever the
// order and the endianness of the file.
//
// Errors: those of `ParseNpyHeader`; elements missing or bytes left over; a
//     reading that does not fit.
absl::StatusOr<pb::Tensor> ReadNpy(std::string file,
                                   const NpyReading& reading = {});

// The bytes that go before `tensor.data()` to make a .npy file, version 1.0.
// `BF16` and the 8-bit floats are written as raw items; types of no whole
// number of bytes, and `STRING`, as a 1-D array of bytes.
//
// Errors: a layout other than row-major; `values`; a size of `data` that is not
//     what type and shape call for
absl::StatusOr<std::string> NpyHeaderOf(const pb::Tensor& tensor);

}  // namespace axis
