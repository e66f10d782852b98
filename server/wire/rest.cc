#include "server/wire/rest.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/slice.h>

#include <vector>

#include "server/wire/wire_reader.h"

namespace axis {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::StringOutputStream;

// Appends the rest of the message that ends at `limit` to `rest`, and takes
// from `left` what it read of it.
bool Keep(WireReader& in, int64_t limit, std::span<const uint32_t> path,
          int64_t& left, std::string& rest) {
  while (in.position() < limit) {
    const int64_t begin = in.position();
    WireReader field = in;
    uint32_t tag;
    int64_t end;
    if (!in.ReadTag(tag)) return false;
    const bool is_on_path = tag >> 3 == path.front() &&
                            WireFormatLite::GetTagWireType(tag) ==
                                WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (is_on_path) {
      if (!in.ReadLength(limit, end)) return false;
    } else {
      int64_t fields = 0;
      if (!in.SkipField(tag, limit, /*depth=*/0, fields)) return false;
    }
    left -= in.position() - begin;
    if (left < 0) return false;
    if (!is_on_path) {
      if (!field.CopyTo(in.position(), rest)) return false;
    } else if (path.size() == 1) {
      if (!in.SkipTo(end)) return false;
    } else {
      std::string inner;
      if (!Keep(in, end, path.subspan(1), left, inner)) return false;
      StringOutputStream stream(&rest);
      CodedOutputStream out(&stream);
      out.WriteTag(tag);
      out.WriteVarint32(static_cast<uint32_t>(inner.size()));
      out.WriteString(inner);
    }
  }
  return in.position() == limit;
}

}  // namespace

std::optional<std::string> RestOf(const grpc::ByteBuffer& message,
                                  std::span<const uint32_t> path,
                                  int64_t max_bytes) {
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok()) return std::nullopt;
  WireReader in(slices);
  std::string rest;
  if (!Keep(in, static_cast<int64_t>(message.Length()), path, max_bytes, rest))
    return std::nullopt;
  return rest;
}

std::optional<std::string> StringIn(const grpc::ByteBuffer& message,
                                    uint32_t number) {
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok()) return std::nullopt;
  const auto limit = static_cast<int64_t>(message.Length());
  WireReader in(slices);
  std::string found;
  while (in.position() < limit) {
    uint32_t tag;
    int64_t end, fields = 0;
    if (!in.ReadTag(tag)) return std::nullopt;
    if (tag !=
        WireFormatLite::MakeTag(static_cast<int>(number),
                                WireFormatLite::WIRETYPE_LENGTH_DELIMITED)) {
      if (!in.SkipField(tag, limit, /*depth=*/0, fields)) return std::nullopt;
    } else {
      found.clear();
      if (!in.ReadLength(limit, end) || !in.CopyTo(end, found))
        return std::nullopt;
    }
  }
  return found;
}

}  // namespace axis
