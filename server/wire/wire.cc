#include "server/wire/wire.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/status.h"
#include "server/elements/types.h"
#include "server/process/out_of_memory.h"
#include "server/wire/wire_reader.h"

namespace axis {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

constexpr uint32_t Varint(int field) {
  return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_VARINT);
}
constexpr uint32_t Delimited(int field) {
  return WireFormatLite::MakeTag(field,
                                 WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

constexpr int kTensorField = 1;
// protobuf's default: so many messages and groups may be nested in a request.
constexpr int kMaxDepth = 100;

// What an entry of Values costs once parsed, at most, growth of its list
// included: a number in a packed list; anything else (a string is an object of
// 32 bytes behind a pointer, an unknown field is 16 bytes).
constexpr int64_t kPackedCost = 24;
constexpr int64_t kEntryCost = 96;

absl::Status Malformed() {
  return absl::InvalidArgumentError(
      "the request is not a valid protobuf message");
}

// Reads a Values up to `limit`; adds what it costs when parsed to `cost`.
bool CheckValues(WireReader& in, int64_t limit, int64_t& cost) {
  while (in.position() < limit) {
    uint32_t tag;
    int64_t end;
    uint64_t ignored;
    if (!in.ReadTag(tag)) return false;
    switch (tag) {
      case Delimited(pb::Values::kFloatsFieldNumber):
        if (!in.ReadLength(limit, end)) return false;
        if ((end - in.position()) % 8 != 0) return false;
        cost += (end - in.position()) / 8 * kPackedCost;
        if (!in.SkipTo(end)) return false;
        break;
      case Delimited(pb::Values::kIntsFieldNumber):
      case Delimited(pb::Values::kUintsFieldNumber):
        if (!in.ReadLength(limit, end)) return false;
        while (in.position() < end) {
          if (!in.ReadVarint(ignored)) return false;
          cost += kPackedCost;
        }
        if (in.position() != end) return false;
        break;
      default: {
        // Values lies in a Tensor, that in the request: two levels are spent.
        const int64_t begin = in.position();
        int64_t fields = 0;
        if (!in.SkipField(tag, limit, kMaxDepth - 2, fields)) return false;
        cost += fields * kEntryCost + in.position() - begin;
      }
    }
  }
  return in.position() == limit;
}

// Reads a Tensor up to `limit` and merges it into `tensor`.
absl::Status MergeTensor(WireReader& in, int64_t limit, WireTensor& tensor,
                         int& values_parts) {
  const auto add_extent = [&](uint64_t extent) {
    if (tensor.header.shape_size() == kMaxRank) {
      return FieldError(
          "shape", absl::StrCat("must have at most ", kMaxRank, " extents"));
    }
    tensor.header.add_shape(static_cast<int64_t>(extent));
    return absl::OkStatus();
  };
  while (in.position() < limit) {
    uint32_t tag;
    int64_t end;
    uint64_t value;
    if (!in.ReadTag(tag)) return Malformed();
    switch (tag) {
      case Varint(pb::Tensor::kDataTypeFieldNumber):
        if (!in.ReadVarint(value)) return Malformed();
        tensor.header.set_data_type(static_cast<pb::DataType>(value));
        break;
      case Varint(pb::Tensor::kLayoutFieldNumber):
        if (!in.ReadVarint(value)) return Malformed();
        tensor.header.set_layout(static_cast<pb::Layout>(value));
        break;
      case Varint(pb::Tensor::kShapeFieldNumber):
        if (!in.ReadVarint(value)) return Malformed();
        AXIS_RETURN_IF_ERROR(add_extent(value));
        break;
      case Delimited(pb::Tensor::kShapeFieldNumber):
        if (!in.ReadLength(limit, end)) return Malformed();
        while (in.position() < end) {
          if (!in.ReadVarint(value)) return Malformed();
          AXIS_RETURN_IF_ERROR(add_extent(value));
        }
        if (in.position() != end) return Malformed();
        break;
      case Delimited(pb::Tensor::kDataFieldNumber):
        if (!in.ReadLength(limit, end)) return Malformed();
        tensor.values.reset();
        tensor.values_cost = 0;
        tensor.data_end = end;
        if (!in.ShareTo(end, tensor.data.emplace())) return Malformed();
        break;
      case Delimited(pb::Tensor::kValuesFieldNumber): {
        if (!in.ReadLength(limit, end)) return Malformed();
        // Each costs a slice or more, whatever its size.
        if (++values_parts > kMaxValuesParts) {
          return FieldError("values", absl::StrCat("must come in at most ",
                                                   kMaxValuesParts, " parts"));
        }
        WireReader share = in;
        if (!CheckValues(in, end, tensor.values_cost)) return Malformed();
        tensor.data.reset();
        if (!tensor.values) tensor.values.emplace();
        if (!share.ShareTo(end, *tensor.values)) return Malformed();
        break;
      }
      default: {
        int64_t fields = 0;
        if (!in.SkipField(tag, limit, kMaxDepth - 1, fields))
          return Malformed();
      }
    }
  }
  return in.position() == limit ? absl::OkStatus() : Malformed();
}

// The tensors of field 1 of a request, as it comes along.
class TensorList {
 public:
  TensorList(const FieldDescriptor& field, std::vector<WireTensor>& tensors)
      : field_(field), tensors_(tensors) {}

  // Reads an occurrence of the field up to `limit`: the next tensor, or another
  // part of the only one.
  absl::Status Read(WireReader& in, int64_t limit) {
    if (field_.is_repeated() || tensors_.empty()) {
      if (tensors_.size() == kMaxInputs) {
        return FieldError(field_.name(),
                          absl::StrCat("must hold at most ", kMaxInputs));
      }
      tensors_.emplace_back();
      values_parts_ = 0;
    }
    absl::Status status =
        MergeTensor(in, limit, tensors_.back(), values_parts_);
    if (FieldOf(status).empty()) return status;
    return InField(field_.is_repeated() ? absl::StrCat(field_.name(), "[",
                                                       tensors_.size() - 1, "]")
                                        : field_.name(),
                   std::move(status));
  }

 private:
  const FieldDescriptor& field_;
  std::vector<WireTensor>& tensors_;
  int values_parts_ = 0;
};

// Adds the field from `begin` to where `in` stands to `rest`.
absl::Status KeepField(const FieldDescriptor& field, WireReader begin,
                       const WireReader& in, int& ops, std::string& rest) {
  if (field.is_repeated() && ++ops > kMaxOps) {
    return FieldError(field.name(),
                      absl::StrCat("must hold at most ", kMaxOps));
  }
  const int64_t size = in.position() - begin.position();
  if (size > kMaxRestBytes - static_cast<int64_t>(rest.size())) {
    return FieldError(field.name(), absl::StrCat("must take at most ",
                                                 kMaxRestBytes, " bytes"));
  }
  return begin.CopyTo(in.position(), rest) ? absl::OkStatus() : Malformed();
}

int64_t VarintBytes(int64_t value) {
  return static_cast<int64_t>(
      CodedOutputStream::VarintSize64(static_cast<uint64_t>(value)));
}

// The bytes of a Tensor message of a response, without its own tag and length.
int64_t ContentBytes(const pb::Tensor& header, int64_t data_bytes) {
  const int64_t bytes = static_cast<int64_t>(header.ByteSizeLong());
  if (header.has_values()) return bytes;
  return bytes + 1 + VarintBytes(data_bytes) + data_bytes;
}

// Appends the tag, of one byte, and the length of a field to `out`.
void AppendTag(int field, int64_t length, std::string& out) {
  uint8_t bytes[11];
  bytes[0] = static_cast<uint8_t>(Delimited(field));
  uint8_t* end = CodedOutputStream::WriteVarint64ToArray(
      static_cast<uint64_t>(length), bytes + 1);
  out.append(&bytes[0], end);
}

}  // namespace

absl::Status Unpack(const grpc::ByteBuffer& message,
                    std::vector<WireTensor>& tensors,
                    google::protobuf::Message& rest) {
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok()) return Malformed();
  int64_t size = 0;
  for (const grpc::Slice& slice : slices)
    size += static_cast<int64_t>(slice.size());

  const Descriptor& type = *rest.GetDescriptor();
  tensors.clear();
  TensorList inputs(*type.FindFieldByNumber(kTensorField), tensors);
  std::string kept;
  int ops = 0;
  WireReader in(slices);
  while (in.position() < size) {
    const WireReader begin = in;
    uint32_t tag;
    if (!in.ReadTag(tag)) return Malformed();
    if (tag == Delimited(kTensorField)) {
      int64_t end;
      if (!in.ReadLength(size, end)) return Malformed();
      AXIS_RETURN_IF_ERROR(inputs.Read(in, end));
      continue;
    }
    int64_t fields = 0;
    if (!in.SkipField(tag, size, kMaxDepth, fields)) return Malformed();
    const FieldDescriptor* field =
        type.FindFieldByNumber(static_cast<int>(tag >> 3));
    if (field == nullptr || field->number() == kTensorField) continue;
    AXIS_RETURN_IF_ERROR(KeepField(*field, begin, in, ops, kept));
  }
  const WaitsForMemory scope;
  return rest.ParseFromString(kept) ? absl::OkStatus() : Malformed();
}

pb::Values ParseValues(const Payload& values) {
  grpc::ByteBuffer bytes(values.slices().data(), values.slices().size());
  grpc::ProtoBufferReader reader(&bytes);
  pb::Values parsed;
  // Unpack has parsed it before.
  std::ignore = parsed.ParseFromZeroCopyStream(&reader);
  return parsed;
}

int64_t PackedBytes(const pb::Tensor& header, int64_t data_bytes) {
  const int64_t content = ContentBytes(header, data_bytes);
  return 1 + VarintBytes(content) + content;
}

std::string DataPrefix(const pb::Tensor& header, int64_t data_bytes) {
  std::string prefix;
  AppendTag(kTensorField, ContentBytes(header, data_bytes), prefix);
  prefix += header.SerializeAsString();
  if (!header.has_values())
    AppendTag(pb::Tensor::kDataFieldNumber, data_bytes, prefix);
  return prefix;
}

grpc::ByteBuffer Pack(std::span<const OutTensor> tensors) {
  std::vector<grpc::Slice> slices;
  for (const OutTensor& tensor : tensors) {
    slices.emplace_back(DataPrefix(tensor.header, tensor.data.size()));
    if (tensor.header.has_values()) continue;
    const std::vector<grpc::Slice>& data = tensor.data.slices();
    slices.insert(slices.end(), data.begin(), data.end());
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace axis
