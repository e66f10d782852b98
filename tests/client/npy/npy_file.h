// .npy files made by hand, not by the writer that is tested.
#pragma once

#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/npy/npy.h"

namespace axis {

inline std::string File(absl::string_view literal, absl::string_view data,
                        int major = 1) {
  std::string file("\x93NUMPY", 6);
  file.push_back(static_cast<char>(major));
  file.push_back('\0');
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    file.push_back(static_cast<char>(literal.size() >> 8 * i & 0xff));
  return absl::StrCat(file, literal, data);
}

inline std::string Literal(absl::string_view descr, absl::string_view shape,
                           bool fortran = false) {
  return absl::StrCat("{'descr': '", descr,
                      "', 'fortran_order': ", fortran ? "True" : "False",
                      ", 'shape': ", shape, ", }   \n");
}

inline std::string Message(const std::string& file,
                           const NpyReading& reading = {}) {
  return std::string(ReadNpy(file, reading).status().message());
}

// The bytes 0, 1, 2, ...
inline std::string Counting(size_t bytes) {
  std::string data(bytes, '\0');
  std::iota(data.begin(), data.end(), '\0');
  return data;
}

}  // namespace axis
