#include "server/elements/values.h"

#include <google/protobuf/repeated_field.h>

#include <bit>
#include <cstring>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/plan.h"
#include "kernels/status.h"
#include "server/elements/types.h"

namespace axis {
namespace {

static_assert(std::endian::native == std::endian::little,
              "elements are little-endian and copied as they are");

enum List { kFloats, kInts, kUints, kStrings };
constexpr const char* kListNames[] = {"floats", "ints", "uints", "strings"};

// How a type is spelled: `count` numbers an element, of `bits` bits each.
struct Spelling {
  List list;
  int count;
  int bits;
};

Spelling SpellingOf(pb::DataType type) {
  const int bits = BitsOf(type);
  switch (type) {
    case pb::DATA_TYPE_STRING:
      return {kStrings, 1, 0};
    case pb::DATA_TYPE_C64:
    case pb::DATA_TYPE_C128:
      return {kFloats, 2, bits / 2};
    case pb::DATA_TYPE_BOOL:
    case pb::DATA_TYPE_I4:
    case pb::DATA_TYPE_I8:
    case pb::DATA_TYPE_I16:
    case pb::DATA_TYPE_I32:
    case pb::DATA_TYPE_I64:
      return {kInts, 1, bits};
    case pb::DATA_TYPE_U1:
    case pb::DATA_TYPE_U2:
    case pb::DATA_TYPE_U3:
    case pb::DATA_TYPE_U4:
    case pb::DATA_TYPE_U6:
    case pb::DATA_TYPE_U8:
    case pb::DATA_TYPE_U16:
    case pb::DATA_TYPE_U32:
    case pb::DATA_TYPE_U64:
      return {kUints, 1, bits};
    default:
      return {kFloats, 1, bits};
  }
}

constexpr uint64_t Mask(int bits) {
  return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

// The numbers that an integer type has.
template <class Number>
struct Range {
  Number min, max;
};
Range<int64_t> RangeOf(pb::DataType type, int bits, int64_t) {
  if (type == pb::DATA_TYPE_BOOL) return {0, 1};
  const int64_t max = static_cast<int64_t>(Mask(bits - 1));
  return {-max - 1, max};
}
Range<uint64_t> RangeOf(pb::DataType, int bits, uint64_t) {
  return {0, Mask(bits)};
}

std::optional<uint64_t> Encode(pb::DataType type, int, double value) {
  return EncodeFloat(type, value);
}
template <class Number>
std::optional<uint64_t> Encode(pb::DataType type, int bits, Number value) {
  const Range<Number> range = RangeOf(type, bits, Number{});
  if (value < range.min || value > range.max) return std::nullopt;
  return static_cast<uint64_t>(value) & Mask(bits);
}

// Why Encode() refused a number.
std::string Refusal(pb::DataType type, int, double value) {
  return absl::StrFormat("must be %s in %s, is %.17g",
                         type == pb::DATA_TYPE_F32 || type == pb::DATA_TYPE_C64
                             ? "in range"
                             : "exactly representable",
                         NameOf(type), value);
}
template <class Number>
std::string Refusal(pb::DataType type, int bits, Number value) {
  const Range<Number> range = RangeOf(type, bits, Number{});
  return absl::StrCat("must lie in [", range.min, ", ", range.max, "] for ",
                      NameOf(type), ", is ", value);
}

// ---- Storage: where the codes of numbers lie (OpenVINO's order) -------------

// Calls f(byte, shift, low, width) for each of the one or two runs of bits that
// hold number `i`: bits [low, low + width) of its code lie in bits
// [shift, shift + width) of `byte`.
template <class F>
void ForBits(int bits, int64_t i, F f) {
  if (bits == 4) {  // the first in the low nibble
    f(i / 2, i % 2 * 4, 0, 4);
  } else if (bits < 3) {  // the first in the top bits
    const int64_t in_byte = 8 / bits;
    f(i / in_byte, 8 - bits * (i % in_byte + 1), 0, bits);
  } else {  // 3 bytes: low parts in the first two, high parts in the third
    const int64_t in_unit = 24 / bits;
    const int high = bits / 3, low = bits - high;
    const int64_t unit = i / in_unit * 3, k = i % in_unit, in_byte = 8 / low;
    f(unit + k / in_byte, 8 - low * (k % in_byte + 1), 0, low);
    f(unit + 2, 8 - high * (k + 1), low, high);
  }
}

// REQUIRES: the bits of number `i` are zero if it is narrower than a byte.
void Store(std::span<std::byte> dst, int bits, int64_t i, uint64_t code) {
  if (bits >= 8) {
    const size_t n = static_cast<size_t>(bits / 8);
    std::memcpy(&dst[static_cast<size_t>(i) * n], &code, n);
    return;
  }
  ForBits(bits, i, [&](int64_t byte, int64_t shift, int low, int width) {
    dst[static_cast<size_t>(byte)] |=
        static_cast<std::byte>((code >> low & Mask(width)) << shift);
  });
}

uint64_t Load(std::span<const std::byte> src, int bits, int64_t i) {
  uint64_t code = 0;
  if (bits >= 8) {
    const size_t n = static_cast<size_t>(bits / 8);
    std::memcpy(&code, &src[static_cast<size_t>(i) * n], n);
    return code;
  }
  ForBits(bits, i, [&](int64_t byte, int64_t shift, int low, int width) {
    code |=
        (std::to_integer<uint64_t>(src[static_cast<size_t>(byte)]) >> shift &
         Mask(width))
        << low;
  });
  return code;
}

// ---- Lists
// -------------------------------------------------------------------

template <class Number>
absl::Status PackList(const google::protobuf::RepeatedField<Number>& list,
                      pb::DataType type, const Spelling& spelling,
                      std::span<std::byte> dst) {
  if (spelling.bits < 8) std::fill(dst.begin(), dst.end(), std::byte{0});
  for (int i = 0; i < list.size(); ++i) {
    const auto code = Encode(type, spelling.bits, list[i]);
    if (!code) {
      return FieldError(
          absl::StrCat("values.", kListNames[spelling.list], "[", i, "]"),
          Refusal(type, spelling.bits, list[i]));
    }
    Store(dst, spelling.bits, i, *code);
  }
  return absl::OkStatus();
}

void PackStrings(const pb::Values& values, std::span<std::byte> dst) {
  std::byte* next = dst.data();
  for (const std::string& string : values.strings()) {
    const uint32_t size = static_cast<uint32_t>(string.size());
    std::memcpy(next, &size, sizeof size);
    std::memcpy(next + sizeof size, string.data(), size);
    next += sizeof size + size;
  }
}

void UnpackStrings(int64_t elements, std::span<const std::byte> src,
                   pb::Values& values) {
  for (int64_t i = 0; i < elements; ++i) {
    uint32_t size;
    std::memcpy(&size, src.data(), sizeof size);
    const auto string = src.subspan(sizeof size, size);
    values.add_strings(string.data(), string.size());
    src = src.subspan(sizeof size + size);
  }
}

}  // namespace

absl::StatusOr<int64_t> ValuesBytes(const pb::Values& values, pb::DataType type,
                                    int64_t elements) {
  if (BitsOf(type) == 0 && type != pb::DATA_TYPE_STRING)
    return FieldError("data_type", "must be a type of axis.v1");
  const Spelling spelling = SpellingOf(type);
  const int sizes[] = {values.floats_size(), values.ints_size(),
                       values.uints_size(), values.strings_size()};
  for (const List list : {kFloats, kInts, kUints, kStrings}) {
    if (list != spelling.list && sizes[list] > 0) {
      return FieldError(
          "values",
          absl::StrCat("must spell ", NameOf(type), " in ",
                       kListNames[spelling.list], ", uses ", kListNames[list]));
    }
  }
  const int64_t expected = elements * spelling.count;
  if (sizes[spelling.list] != expected) {
    return FieldError(
        absl::StrCat("values.", kListNames[spelling.list]),
        absl::StrCat("must hold ", expected, " for this type and shape, holds ",
                     sizes[spelling.list]));
  }
  if (spelling.list != kStrings) return PackedBytes(elements, BitsOf(type));
  int64_t bytes = 0;
  for (const std::string& string : values.strings())
    bytes += static_cast<int64_t>(sizeof(uint32_t) + string.size());
  return bytes;
}

absl::Status PackValues(const pb::Values& values, pb::DataType type,
                        std::span<std::byte> dst) {
  const Spelling spelling = SpellingOf(type);
  switch (spelling.list) {
    case kFloats:
      return PackList(values.floats(), type, spelling, dst);
    case kInts:
      return PackList(values.ints(), type, spelling, dst);
    case kUints:
      return PackList(values.uints(), type, spelling, dst);
    case kStrings:
      PackStrings(values, dst);
  }
  return absl::OkStatus();
}

void UnpackValues(pb::DataType type, int64_t elements,
                  std::span<const std::byte> src, pb::Values& values) {
  const Spelling spelling = SpellingOf(type);
  if (spelling.list == kStrings) return UnpackStrings(elements, src, values);
  const int64_t n = elements * spelling.count;
  const int unused = 64 - spelling.bits;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t code = Load(src, spelling.bits, i);
    if (spelling.list == kFloats) {
      values.add_floats(DecodeFloat(type, code));
    } else if (spelling.list == kUints) {
      values.add_uints(code);
    } else {
      values.add_ints(static_cast<int64_t>(code << unused) >> unused);
    }
  }
}

}  // namespace axis
