#include "client/npy/npy_header.h"

#include <algorithm>
#include <bit>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/tensor.h"

namespace axis {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tensors on the wire are little-endian");

constexpr absl::string_view kMagic("\x93NUMPY", 6);
// NumPy 2 allows 64 axes, NumPy 1 and axisd 32.
constexpr size_t kMaxAxes = 64;

// The types that .npy has a name for, and after them those it has not.
constexpr NpyType kTypes[] = {
    {pb::DATA_TYPE_BOOL, "|b1", 1},   {pb::DATA_TYPE_U8, "|u1", 1},
    {pb::DATA_TYPE_I8, "|i1", 1},     {pb::DATA_TYPE_U16, "<u2", 2},
    {pb::DATA_TYPE_I16, "<i2", 2},    {pb::DATA_TYPE_F16, "<f2", 2},
    {pb::DATA_TYPE_U32, "<u4", 4},    {pb::DATA_TYPE_I32, "<i4", 4},
    {pb::DATA_TYPE_F32, "<f4", 4},    {pb::DATA_TYPE_U64, "<u8", 8},
    {pb::DATA_TYPE_I64, "<i8", 8},    {pb::DATA_TYPE_F64, "<f8", 8},
    {pb::DATA_TYPE_C64, "<c8", 8},    {pb::DATA_TYPE_C128, "<c16", 16},
    {pb::DATA_TYPE_BF16, "|V2", 2},   {pb::DATA_TYPE_F8E4M3, "|V1", 1},
    {pb::DATA_TYPE_F8E5M2, "|V1", 1}, {pb::DATA_TYPE_F8E8M0, "|V1", 1},
};

// Text of a file, fit for a message.
std::string Quoted(absl::string_view text) {
  constexpr size_t kEnough = 60;
  const bool cut = text.size() > kEnough;
  return absl::StrCat("'", absl::CHexEscape(text.substr(0, kEnough)),
                      cut ? "..." : "", "'");
}

absl::Status NotNpy(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("not a .npy file: ", why));
}

// The Python literal of a header, as far as NumPy makes use of the language: a
// dict of a string, a truth value, and a tuple of integers.
class Literal {
 public:
  explicit Literal(absl::string_view text) : rest_(text) {}

  bool Take(absl::string_view token) {
    SkipSpace();
    return absl::ConsumePrefix(&rest_, token);
  }

  bool TakeString(std::string* value) {
    SkipSpace();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return false;
    const size_t end = rest_.find(rest_[0], 1);
    if (end == absl::string_view::npos) return false;
    *value = std::string(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return true;
  }

  bool TakeBool(bool* value) {
    *value = Take("True");
    return *value || Take("False");
  }

  bool TakeExtents(std::vector<int64_t>* extents) {
    if (!Take("(")) return false;
    while (!Take(")")) {
      SkipSpace();
      size_t digits = 0;
      while (digits < rest_.size() &&
             absl::ascii_isdigit(static_cast<unsigned char>(rest_[digits])))
        ++digits;
      int64_t extent = 0;
      if (!absl::SimpleAtoi(rest_.substr(0, digits), &extent)) return false;
      rest_.remove_prefix(digits);
      (void)absl::ConsumePrefix(&rest_, "L");  // as Python 2 wrote it
      if (extents->size() == kMaxAxes) return false;
      extents->push_back(extent);
      if (!Take(",")) return Take(")");
    }
    return true;
  }

  absl::string_view rest() {
    SkipSpace();
    return rest_;
  }

 private:
  void SkipSpace() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }

  absl::string_view rest_;
};

// Reads the type of the elements.
absl::Status ReadDescr(NpyHeader& header) {
  const absl::string_view descr = header.descr;
  const absl::Status refused = absl::InvalidArgumentError(absl::StrCat(
      "descr ", Quoted(descr),
      ": must be bool, or an integer, float or complex type of at most 8 bytes "
      "a number (b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16, or V1 and V2 for "
      "types without a name), with < > = or | before it"));
  if (descr.size() < 3) return refused;
  const char order = descr[0];
  for (const NpyType& type : kTypes) {
    if (descr.substr(1) != type.descr.substr(1)) continue;
    const bool raw = descr[1] == 'V';
    header.item_bytes = type.item_bytes;
    header.data_type = raw ? pb::DATA_TYPE_UNSPECIFIED : type.data_type;
    header.big_endian = order == '>' && header.item_bytes > 1;
    // Raw items have no order, and numbers of several bytes must have one.
    const bool allowed = order == '<' || order == '=' ||
                         (order == '>' && !raw) ||
                         (order == '|' && (raw || header.item_bytes == 1));
    return allowed ? absl::OkStatus() : refused;
  }
  return refused;
}

absl::Status ReadLiteral(absl::string_view text, NpyHeader& header) {
  Literal literal(text);
  bool has_descr = false, has_order = false, has_shape = false;
  if (!literal.Take("{")) return NotNpy("its header must be a dict");
  while (!literal.Take("}")) {
    std::string key;
    if (!literal.TakeString(&key) || !literal.Take(":"))
      return NotNpy(absl::StrCat("its header must hold a key at ",
                                 Quoted(literal.rest())));
    bool* const seen = key == "descr"           ? &has_descr
                       : key == "fortran_order" ? &has_order
                       : key == "shape"         ? &has_shape
                                                : nullptr;
    if (seen == nullptr || *seen)
      return NotNpy(
          absl::StrCat("its header must hold descr, fortran_order "
                       "and shape, each once, has ",
                       Quoted(key)));
    *seen = true;
    const absl::string_view value = literal.rest();
    if (seen == &has_descr && !literal.TakeString(&header.descr))
      return absl::InvalidArgumentError(
          absl::StrCat("descr ", Quoted(value),
                       ": structured types are no tensors; save one field"));
    if (seen == &has_order && !literal.TakeBool(&header.fortran_order))
      return NotNpy(absl::StrCat("fortran_order must be True or False, is ",
                                 Quoted(value)));
    if (seen == &has_shape && !literal.TakeExtents(&header.shape))
      return NotNpy(absl::StrCat("shape must be a tuple of at most ", kMaxAxes,
                                 " extents of at least 0, is ", Quoted(value)));
    if (!literal.Take(",") && literal.rest().substr(0, 1) != "}")
      return NotNpy(absl::StrCat("its header must go on with , or } at ",
                                 Quoted(literal.rest())));
  }
  if (!literal.rest().empty())
    return NotNpy("its header must end with the dict");
  if (!has_descr || !has_order || !has_shape)
    return NotNpy("its header must hold descr, fortran_order and shape");
  return absl::OkStatus();
}

}  // namespace

const NpyType* FindNpyType(pb::DataType data_type) {
  for (const NpyType& type : kTypes)
    if (type.data_type == data_type) return &type;
  return nullptr;
}

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view file) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(file[i]); };
  if (file.substr(0, kMagic.size()) != kMagic)
    return NotNpy("it must begin with \\x93NUMPY");
  if (file.size() < 12) return NotNpy("it ends within its header");
  const int major = byte(6), minor = byte(7);
  if (major < 1 || major > 3 || minor != 0)
    return absl::InvalidArgumentError(absl::StrCat(
        "the version must be 1.0, 2.0 or 3.0, is ", major, ".", minor));
  NpyHeader header{};
  const size_t begin = major == 1 ? 10 : 12;
  size_t length = byte(8) | static_cast<size_t>(byte(9)) << 8;
  if (major > 1)
    length |= static_cast<size_t>(byte(10)) << 16 |
              static_cast<size_t>(byte(11)) << 24;
  if (length > kMaxNpyHeaderBytes - begin)
    return absl::InvalidArgumentError(
        absl::StrCat("the header must have at most ",
                     kMaxNpyHeaderBytes - begin, " bytes, has ", length));
  if (file.size() - begin < length) return NotNpy("it ends within its header");
  header.data_offset = begin + length;

  absl::Status status = ReadLiteral(file.substr(begin, length), header);
  if (status.ok()) status = ReadDescr(header);
  if (!status.ok()) return status;
  const auto bytes = ShapeBytes(header.shape, header.item_bytes);
  if (!bytes.ok()) return bytes.status();
  header.data_bytes = *bytes;
  return header;
}

absl::StatusOr<std::string> FormatNpyHeader(absl::string_view descr,
                                            absl::Span<const int64_t> shape) {
  std::string literal = absl::StrCat(
      "{'descr': '", descr, "', 'fortran_order': False, 'shape': (",
      absl::StrJoin(shape, ", "), shape.size() == 1 ? ",), }" : "), }");
  // The elements begin at a multiple of 64 bytes, for those who map the file.
  constexpr size_t kBegin = 10;
  constexpr size_t kAlignment = 64;
  const size_t unpadded = kBegin + literal.size() + 1;
  literal.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  literal.push_back('\n');
  if (shape.size() > kMaxAxes)
    return absl::InvalidArgumentError(absl::StrCat(
        "a .npy file has at most ", kMaxAxes, " axes, not ", shape.size()));
  std::string header(kMagic);
  header.append({'\x01', '\x00', static_cast<char>(literal.size() & 0xff),
                 static_cast<char>(literal.size() >> 8)});
  return header + literal;
}

}  // namespace axis
