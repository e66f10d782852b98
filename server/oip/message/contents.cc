#include "server/oip/message/contents.h"

#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "inference/infer.pb.h"
#include "kernels/status.h"
#include "server/elements/types.h"
#include "server/wire/wire_reader.h"

namespace axis {
namespace {

using List = ::inference::InferTensorContents;
using google::protobuf::internal::WireFormatLite;

constexpr int kLengthBytes = sizeof(uint32_t);

// The list of a type and how the protocol writes its elements.
struct Spelling {
  int field;
  int fixed_bytes;  // 0: varints
  const char* name;
};

// A field of 0 if the type has none.
Spelling SpellingOf(pb::DataType type) {
  switch (type) {
    case pb::DATA_TYPE_BOOL:
      return {List::kBoolContentsFieldNumber, 0, "bool_contents"};
    case pb::DATA_TYPE_I8:
    case pb::DATA_TYPE_I16:
    case pb::DATA_TYPE_I32:
      return {List::kIntContentsFieldNumber, 0, "int_contents"};
    case pb::DATA_TYPE_I64:
      return {List::kInt64ContentsFieldNumber, 0, "int64_contents"};
    case pb::DATA_TYPE_U8:
    case pb::DATA_TYPE_U16:
    case pb::DATA_TYPE_U32:
      return {List::kUintContentsFieldNumber, 0, "uint_contents"};
    case pb::DATA_TYPE_U64:
      return {List::kUint64ContentsFieldNumber, 0, "uint64_contents"};
    case pb::DATA_TYPE_F32:
      return {List::kFp32ContentsFieldNumber, 4, "fp32_contents"};
    case pb::DATA_TYPE_F64:
      return {List::kFp64ContentsFieldNumber, 8, "fp64_contents"};
    case pb::DATA_TYPE_STRING:
      return {List::kBytesContentsFieldNumber, 0, "bytes_contents"};
    default:
      return {0, 0, ""};
  }
}

absl::Status Malformed() {
  return absl::InvalidArgumentError(
      "the request is not a valid protobuf message");
}

// Writes elements one after the other, and no more than there are.
class Packer {
 public:
  Packer(pb::DataType type, const Spelling& spelling, int64_t elements,
         std::byte* dst)
      : type_(type),
        spelling_(spelling),
        width_(static_cast<size_t>(BitsOf(type) / 8)),
        elements_(elements),
        begin_(dst),
        next_(dst) {}

  int64_t count() const { return count_; }
  int64_t bytes() const { return next_ - begin_; }

  // The parsers keep the low 32 bits of a varint for a 32-bit number.
  absl::Status AddVarint(uint64_t varint) {
    if (spelling_.field == List::kIntContentsFieldNumber) {
      const int64_t value = static_cast<int32_t>(varint);
      const int64_t top = (int64_t{1} << (8 * width_ - 1)) - 1;
      if (value < -top - 1 || value > top) return OutOfRange(value);
      return Add(static_cast<uint64_t>(value));
    }
    if (spelling_.field == List::kUintContentsFieldNumber) {
      const uint64_t value = static_cast<uint32_t>(varint);
      if (value >> (8 * width_) != 0)
        return OutOfRange(static_cast<int64_t>(value));
      return Add(value);
    }
    return Add(type_ == pb::DATA_TYPE_BOOL ? varint != 0 : varint);
  }

  absl::Status AddString(WireReader& in, int64_t end) {
    if (count_ == elements_) return WrongCount("more");
    const uint32_t size = static_cast<uint32_t>(end - in.position());
    std::string text;
    if (!in.CopyTo(end, text)) return Malformed();
    std::memcpy(next_, &size, kLengthBytes);
    std::memcpy(next_ + kLengthBytes, text.data(), size);
    next_ += kLengthBytes + size;
    ++count_;
    return absl::OkStatus();
  }

  // Adds the elements of fixed size up to `end`.
  absl::Status AddFixed(WireReader& in, int64_t end) {
    const int64_t bytes = end - in.position();
    if (bytes % spelling_.fixed_bytes != 0) return Malformed();
    if (bytes / spelling_.fixed_bytes > elements_ - count_)
      return WrongCount("more");
    const bool copied =
        in.Consume(end, [&](const uint8_t* p, size_t n, const grpc::Slice&) {
          std::memcpy(next_, p, n);
          next_ += n;
        });
    if (!copied) return Malformed();
    count_ += bytes / spelling_.fixed_bytes;
    return absl::OkStatus();
  }

  absl::Status WrongCount(absl::string_view found) const {
    return FieldError("contents",
                      absl::StrCat("must hold ", elements_, " elements in ",
                                   spelling_.name, ", holds ", found));
  }

 private:
  absl::Status Add(uint64_t bits) {
    if (count_ == elements_) return WrongCount("more");
    std::memcpy(next_, &bits, width_);
    next_ += width_;
    ++count_;
    return absl::OkStatus();
  }

  absl::Status OutOfRange(int64_t value) const {
    return FieldError(
        absl::StrCat("contents.", spelling_.name, "[", count_, "]"),
        absl::StrCat("is out of the range of ", NameOf(type_), ": ", value));
  }

  const pb::DataType type_;
  const Spelling spelling_;
  const size_t width_;
  const int64_t elements_;
  std::byte* const begin_;
  std::byte* next_;
  int64_t count_ = 0;
};

// Reads an occurrence of the right list, whose `tag` has been read.
absl::Status ReadList(WireReader& in, uint32_t tag, int64_t limit,
                      pb::DataType type, const Spelling& spelling,
                      Packer& out) {
  int64_t end;
  uint64_t varint;
  switch (WireFormatLite::GetTagWireType(tag)) {
    case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
      if (!in.ReadLength(limit, end)) return Malformed();
      if (type == pb::DATA_TYPE_STRING) return out.AddString(in, end);
      if (spelling.fixed_bytes > 0) return out.AddFixed(in, end);
      while (in.position() < end) {
        if (!in.ReadVarint(varint)) return Malformed();
        AXIS_RETURN_IF_ERROR(out.AddVarint(varint));
      }
      return in.position() == end ? absl::OkStatus() : Malformed();
    case WireFormatLite::WIRETYPE_VARINT:
      if (spelling.fixed_bytes > 0 || type == pb::DATA_TYPE_STRING) break;
      if (!in.ReadVarint(varint)) return Malformed();
      return out.AddVarint(varint);
    case WireFormatLite::WIRETYPE_FIXED32:
    case WireFormatLite::WIRETYPE_FIXED64: {
      const bool wide = WireFormatLite::GetTagWireType(tag) ==
                        WireFormatLite::WIRETYPE_FIXED64;
      if (spelling.fixed_bytes != (wide ? 8 : 4)) break;
      if (in.position() + spelling.fixed_bytes > limit) return Malformed();
      return out.AddFixed(in, in.position() + spelling.fixed_bytes);
    }
    default:
      break;
  }
  return Malformed();
}

// Skips another field, which must hold nothing if it is another list.
absl::Status SkipOther(WireReader& in, uint32_t tag, int64_t limit,
                       const Spelling& spelling) {
  const int64_t begin = in.position();
  int64_t fields = 0;
  constexpr int kDepth = 97;  // three levels of 100 are spent
  if (!in.SkipField(tag, limit, kDepth, fields)) return Malformed();
  const int field = WireFormatLite::GetTagFieldNumber(tag);
  const bool is_list = field >= List::kBoolContentsFieldNumber &&
                       field <= List::kBytesContentsFieldNumber;
  // An empty list is none, but an empty string is a string.
  const bool is_empty = field != List::kBytesContentsFieldNumber &&
                        WireFormatLite::GetTagWireType(tag) ==
                            WireFormatLite::WIRETYPE_LENGTH_DELIMITED &&
                        in.position() == begin + 1;
  if (!is_list || is_empty) return absl::OkStatus();
  return FieldError("contents", absl::StrCat("must hold ", spelling.name,
                                             " alone for this datatype"));
}

}  // namespace

absl::StatusOr<Payload> PackContents(const Payload& contents, pb::DataType type,
                                     int64_t elements, Admission::Lease& lease,
                                     BufferPool& pool) {
  const Spelling spelling = SpellingOf(type);
  if (spelling.field == 0)
    return FieldError(
        "contents",
        absl::StrCat("must be unset: elements of type ", NameOf(type),
                     " come as raw_input_contents alone"));
  // Every element takes a byte or more, and strings two.
  if (elements > contents.size())
    return FieldError("contents",
                      absl::StrCat("must hold ", elements, " elements in ",
                                   spelling.name, ", holds fewer"));
  const int64_t bytes = type == pb::DATA_TYPE_STRING
                            ? elements * kLengthBytes + contents.size()
                            : elements * BitsOf(type) / 8;
  AXIS_RETURN_IF_ERROR(lease.Take(bytes));
  Buffer buffer = NewBuffer(pool, bytes);
  Packer out(type, spelling, elements, buffer.data);
  WireReader in(contents.slices());
  const int64_t limit = contents.size();
  while (in.position() < limit) {
    uint32_t tag;
    if (!in.ReadTag(tag)) return Malformed();
    if (WireFormatLite::GetTagFieldNumber(tag) == spelling.field) {
      AXIS_RETURN_IF_ERROR(ReadList(in, tag, limit, type, spelling, out));
    } else {
      AXIS_RETURN_IF_ERROR(SkipOther(in, tag, limit, spelling));
    }
  }
  if (in.position() != limit) return Malformed();
  if (out.count() != elements) return out.WrongCount(absl::StrCat(out.count()));
  return buffer.payload.Sub(0, out.bytes());
}

}  // namespace axis
