// What tests of server/elements/values.h share: elements spelled in a line, and
// there and back.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "axis/v1/tensor.pb.h"
#include "kernels/status.h"
#include "server/elements/values.h"

namespace axis::testing {

constexpr double kInf = std::numeric_limits<double>::infinity();

using Bytes = std::vector<int>;

inline pb::Values Floats(const std::vector<double>& numbers) {
  pb::Values values;
  values.mutable_floats()->Assign(numbers.begin(), numbers.end());
  return values;
}
inline pb::Values Ints(const std::vector<int64_t>& numbers) {
  pb::Values values;
  values.mutable_ints()->Assign(numbers.begin(), numbers.end());
  return values;
}
inline pb::Values Uints(const std::vector<uint64_t>& numbers) {
  pb::Values values;
  values.mutable_uints()->Assign(numbers.begin(), numbers.end());
  return values;
}

inline absl::StatusOr<std::string> Pack(const pb::Values& values,
                                        pb::DataType type, int64_t elements) {
  AXIS_ASSIGN_OR_RETURN(const int64_t size,
                        ValuesBytes(values, type, elements));
  // Filled, so that bits left alone would show.
  std::vector<std::byte> dst(static_cast<size_t>(size), std::byte{0xFF});
  AXIS_RETURN_IF_ERROR(PackValues(values, type, dst));
  return std::string(reinterpret_cast<const char*>(dst.data()), dst.size());
}

inline pb::Values Unpack(const std::string& bytes, pb::DataType type,
                         int64_t elements) {
  pb::Values values;
  UnpackValues(type, elements, std::as_bytes(std::span(bytes)), values);
  return values;
}

inline Bytes Packed(const pb::Values& values, pb::DataType type,
                    int64_t elements) {
  const absl::StatusOr<std::string> bytes = Pack(values, type, elements);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  if (!bytes.ok()) return {};
  const auto* begin = reinterpret_cast<const uint8_t*>(bytes->data());
  return Bytes(begin, begin + bytes->size());
}

inline std::string FieldOfPack(const pb::Values& values, pb::DataType type,
                               int64_t elements) {
  return FieldOf(Pack(values, type, elements).status());
}

}  // namespace axis::testing
