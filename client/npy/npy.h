// Reads and writes .npy, the file format of NumPy arrays, as tensors of the
// client. Bytes in, bytes out: knows no files and makes no calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/npy/npy_header.h"
#include "client/tensor.h"

namespace axis {

// How to read a file other than as it says.
struct NpyReading {
  // What the elements are; unspecified for what the file says. NumPy knows
  // neither `BF16` nor the 8-bit floats and stores them as raw items, which
  // need this. It must be as wide as an item of the file; a type of no whole
  // number of bytes, and `STRING`, take 1-byte items and a `shape`.
  pb::DataType data_type = pb::DATA_TYPE_UNSPECIFIED;

  // The (logical) shape, if not that of the file. The server checks that it
  // fits.
  std::optional<std::vector<int64_t>> shape;

  // In which layout the array is; a file in blocks of 4 has a last axis of 4.
  pb::Layout layout = pb::LAYOUT_UNSPECIFIED;
};

// The tensor in a file with that header, but for its data.
// Errors: a reading that does not fit
absl::StatusOr<Tensor> NpyTensor(const NpyHeader& header,
                                 const NpyReading& reading);

// Turns elements of a file with that header round, if they are big-endian.
// REQUIRES: `size` bytes are a whole number of elements
void ToLittleEndian(const NpyHeader& header, char* data, size_t size);

// Reads a whole file into a little-endian tensor, last axis fastest, whatever
// the order and the endianness of the file.
//
// Errors: those of `ParseNpyHeader`; elements missing or bytes left over; a
//     reading that does not fit.
absl::StatusOr<Tensor> ReadNpy(std::string file,
                               const NpyReading& reading = {});

// That a file with that header has `bytes` bytes after it, and not as many as
// it must have.
absl::Status WrongNpySize(const NpyHeader& header, uint64_t bytes);

// The bytes that go before the data of `tensor` to make a .npy file, version
// 1.0; of `STRING` tensors alone the data must be there. `BF16` and the 8-bit
// floats are written as raw items; types of no whole number of bytes, and
// `STRING`, as a 1-D array of bytes.
// Other layouts than row-major are written as they lie (see `StoredShape`).
//
// Errors: a layout or a shape that is none
absl::StatusOr<std::string> NpyHeaderOf(const Tensor& tensor);

}  // namespace axis
