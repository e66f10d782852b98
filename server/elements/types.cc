#include "server/elements/types.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/plan.h"
#include "kernels/status.h"

namespace axis {
namespace {

constexpr uint64_t Mask(int bits) { return (uint64_t{1} << bits) - 1; }

// A float narrow enough that only exact numbers are taken.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  enum {
    kIeee,    // the largest exponent is infinity and NaNs
    kOneNan,  // the largest code is a NaN, there is no infinity
    kAllFinite
  } top;
  bool is_signed = true;  // if not, there is no zero and nothing subnormal
};

// F16 and smaller. Source: OpenVINO, element types; OCP 8-bit floating point
// and microscaling formats.
FloatFormat FormatOf(pb::DataType type) {
  switch (type) {
    case pb::DATA_TYPE_F16:
      return {5, 10, 15, FloatFormat::kIeee};
    case pb::DATA_TYPE_BF16:
      return {8, 7, 127, FloatFormat::kIeee};
    case pb::DATA_TYPE_F8E5M2:
      return {5, 2, 15, FloatFormat::kIeee};
    case pb::DATA_TYPE_F8E4M3:
      return {4, 3, 7, FloatFormat::kOneNan};
    case pb::DATA_TYPE_F8E8M0:
      return {8, 0, 127, FloatFormat::kOneNan, false};
    default:  // F4E2M1
      return {2, 1, 1, FloatFormat::kAllFinite};
  }
}

double Decode(const FloatFormat& format, uint64_t code) {
  const int m = format.mantissa_bits;
  const uint64_t top = Mask(format.exponent_bits + m);
  const uint64_t magnitude = code & top;
  const int exponent = static_cast<int>(magnitude >> m);
  const uint64_t mantissa = magnitude & Mask(m);
  double value;
  if (format.top == FloatFormat::kOneNan && magnitude == top) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (format.top == FloatFormat::kIeee &&
             magnitude >> m == Mask(format.exponent_bits)) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0 && format.is_signed) {
    value = std::ldexp(static_cast<double>(mantissa), 1 - format.bias - m);
  } else {
    value = std::ldexp(static_cast<double>(mantissa | uint64_t{1} << m),
                       exponent - format.bias - m);
  }
  return code > top ? -value : value;
}

std::optional<uint64_t> Encode(const FloatFormat& format, double value) {
  const int m = format.mantissa_bits;
  const uint64_t top = Mask(format.exponent_bits + m);
  const uint64_t infinity = Mask(format.exponent_bits) << m;
  if (std::signbit(value) && !format.is_signed && !std::isnan(value))
    return std::nullopt;
  const uint64_t sign =
      std::signbit(value) && format.is_signed ? top + 1 : uint64_t{0};
  switch (std::fpclassify(value)) {
    case FP_NAN:
      if (format.top == FloatFormat::kAllFinite) return std::nullopt;
      if (format.top == FloatFormat::kOneNan) return sign | top;
      return sign | infinity | uint64_t{1} << (m - 1);
    case FP_INFINITE:
      if (format.top != FloatFormat::kIeee) return std::nullopt;
      return sign | infinity;
    case FP_ZERO:
      if (!format.is_signed) return std::nullopt;
      return sign;
    default:
      break;
  }
  // The number as `scaled` units in the last place of its binade; the lowest
  // binade reaches down to 0 where there are subnormals.
  const int lowest = (format.is_signed ? 1 : 0) - format.bias;
  const int exponent = std::max(std::ilogb(value), lowest);
  const double scaled = std::ldexp(std::fabs(value), m - exponent);
  if (scaled != std::trunc(scaled)) return std::nullopt;
  uint64_t magnitude = (static_cast<uint64_t>(exponent - lowest) << m) +
                       static_cast<uint64_t>(scaled);
  if (!format.is_signed) magnitude -= uint64_t{1} << m;
  const uint64_t largest = format.top == FloatFormat::kIeee     ? infinity - 1
                           : format.top == FloatFormat::kOneNan ? top - 1
                                                                : top;
  if (magnitude > largest) return std::nullopt;
  return sign | magnitude;
}

// Source: QLoRA (Dettmers et al. 2023), appendix E.
constexpr std::array<float, 16> kNf4 = {-1.0f,
                                        -0.6961928009986877f,
                                        -0.5250730514526367f,
                                        -0.39491748809814453f,
                                        -0.28444138169288635f,
                                        -0.18477343022823334f,
                                        -0.09105003625154495f,
                                        0.0f,
                                        0.07958029955625534f,
                                        0.16093020141124725f,
                                        0.24611230194568634f,
                                        0.33791524171829224f,
                                        0.44070982933044434f,
                                        0.5626170039176941f,
                                        0.7229568362236023f,
                                        1.0f};

absl::Status CheckType(pb::DataType type) {
  if (type == pb::DATA_TYPE_UNSPECIFIED)
    return FieldError("data_type", "must be set");
  if (!pb::DataType_IsValid(type)) {
    return FieldError("data_type",
                      absl::StrCat("must be a DataType of axis.v1, is ",
                                   static_cast<int>(type)));
  }
  return absl::OkStatus();
}

}  // namespace

int BitsOf(pb::DataType type) {
  switch (type) {
    case pb::DATA_TYPE_U1:
      return 1;
    case pb::DATA_TYPE_U2:
      return 2;
    case pb::DATA_TYPE_U3:
      return 3;
    case pb::DATA_TYPE_U4:
    case pb::DATA_TYPE_I4:
    case pb::DATA_TYPE_NF4:
    case pb::DATA_TYPE_F4E2M1:
      return 4;
    case pb::DATA_TYPE_U6:
      return 6;
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
    default:
      return 0;
  }
}

std::string NameOf(pb::DataType type) {
  constexpr size_t kPrefix = sizeof("DATA_TYPE_") - 1;
  const std::string& name = pb::DataType_Name(type);
  return name.empty() ? absl::StrCat(static_cast<int>(type))
                      : name.substr(kPrefix);
}

std::optional<uint64_t> EncodeFloat(pb::DataType type, double value) {
  switch (type) {
    case pb::DATA_TYPE_F64:
    case pb::DATA_TYPE_C128:
      return std::bit_cast<uint64_t>(value);
    case pb::DATA_TYPE_F32:
    case pb::DATA_TYPE_C64: {
      const float rounded = static_cast<float>(value);
      if (std::isinf(rounded) && !std::isinf(value)) return std::nullopt;
      return std::bit_cast<uint32_t>(rounded);
    }
    case pb::DATA_TYPE_NF4: {
      const auto found = std::find(kNf4.begin(), kNf4.end(), value);
      if (found == kNf4.end()) return std::nullopt;
      return static_cast<uint64_t>(found - kNf4.begin());
    }
    default:
      return Encode(FormatOf(type), value);
  }
}

double DecodeFloat(pb::DataType type, uint64_t code) {
  switch (type) {
    case pb::DATA_TYPE_F64:
    case pb::DATA_TYPE_C128:
      return std::bit_cast<double>(code);
    case pb::DATA_TYPE_F32:
    case pb::DATA_TYPE_C64:
      return std::bit_cast<float>(static_cast<uint32_t>(code));
    case pb::DATA_TYPE_NF4:
      return kNf4[code];
    default:
      return Decode(FormatOf(type), code);
  }
}

absl::StatusOr<TensorSize> SizeOf(pb::DataType type,
                                  absl::Span<const int64_t> shape,
                                  Layout layout) {
  AXIS_RETURN_IF_ERROR(CheckType(type));
  if (shape.size() > kMaxRank) {
    return FieldError("shape", absl::StrCat("must have at most ", kMaxRank,
                                            " extents, has ", shape.size()));
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) {
      return FieldError(absl::StrCat("shape[", i, "]"),
                        absl::StrCat("must be at least 0, is ", shape[i]));
    }
  }
  const std::optional<int64_t> bytes =
      StoredBytes({shape.data(), shape.size()}, layout,
                  type == pb::DATA_TYPE_STRING ? 32 : BitsOf(type));
  if (!bytes) {
    return FieldError("shape",
                      "must keep the product of the non-zero "
                      "extents, and its bytes, below 2^63");
  }
  // 0 wherever a zero stands, before the product can leave 63 bits.
  int64_t elements = 1;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) elements = 0;
  for (const int64_t extent : shape) elements *= extent;
  return TensorSize{elements, *bytes};
}

}  // namespace axis
