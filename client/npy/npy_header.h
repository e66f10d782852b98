// The header of a .npy file: how NumPy says what the bytes after it are. Bytes
// in, bytes out; moves no elements.
//
// Source: NumPy reference, "numpy.lib.format", versions 1.0 to 3.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "axis/v1/tensor.pb.h"

namespace axis {

namespace pb = ::axis::v1;

// How .npy stores a type. `BF16` and the 8-bit floats have no name of their
// own and are raw items, "|V2" and "|V1".
struct NpyType {
  pb::DataType data_type;
  absl::string_view descr;  // as written; read in any byte order
  int64_t item_bytes;       // bytes an element
};

// Null for types that are no whole number of bytes, and for `STRING`.
const NpyType* FindNpyType(pb::DataType data_type);

// The most bytes before the first element of a file that can be read.
inline constexpr size_t kMaxNpyHeaderBytes = 1 << 16;

// What a .npy file says of itself.
struct NpyHeader {
  std::string descr;       // the type as NumPy spells it, such as "<f4"
  pb::DataType data_type;  // unspecified for raw items, "|V1" and "|V2"
  int64_t item_bytes;      // bytes an element
  bool big_endian;         // elements are stored most significant byte first
  bool fortran_order;      // elements are stored first axis fastest
  std::vector<int64_t> shape;
  size_t data_offset;  // bytes before the first element
  int64_t data_bytes;  // bytes of all elements
};

// Reads the beginning of a file, of which `file` need hold no more than
// `kMaxNpyHeaderBytes`.
//
// Errors: not a .npy file; a version other than 1.0, 2.0 and 3.0; a header
//     that is cut short, too long, or not the literal that NumPy writes; a
//     type that no tensor has (structured, object, text, dates, long double);
//     a shape that overflows 63 bits.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view file);

// The header of a file, version 1.0, whose row-major elements follow.
// Errors: more axes than NumPy has
absl::StatusOr<std::string> FormatNpyHeader(absl::string_view descr,
                                            absl::Span<const int64_t> shape);

}  // namespace axis
