#include "client/wire.h"

#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "grpcpp/support/proto_buffer_reader.h"

namespace axis {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

// Tags: the number of the field times 8, and how it is encoded.
constexpr uint32_t kTensor = 1 << 3 | 2;
constexpr uint32_t kDataType = 1 << 3 | 0;
constexpr uint32_t kExtent = 2 << 3 | 0;
constexpr uint32_t kExtents = 2 << 3 | 2;
constexpr uint32_t kData = 3 << 3 | 2;
constexpr uint32_t kValues = 4 << 3 | 2;
constexpr uint32_t kLayout = 5 << 3 | 0;

// What the contract allows; also bounds what a few bytes can make us hold.
constexpr size_t kMaxRank = 32;
constexpr size_t kMaxOutputs = 4096;

void AppendLength(uint32_t tag, size_t length, std::string& out) {
  uint8_t bytes[16];
  uint8_t* end = CodedOutputStream::WriteTagToArray(tag, bytes);
  end = CodedOutputStream::WriteVarint64ToArray(length, end);
  out.append(bytes, end);
}

// Reads one response; false if it is none.
class Reader {
 public:
  Reader(CodedInputStream& in, const Bytes& message)
      : in_(in), message_(message) {}

  bool ReadResponse(bool repeated, std::vector<Tensor>& tensors) {
    if (!repeated) tensors.resize(1);
    while (const uint32_t tag = in_.ReadTag()) {
      if (tag != kTensor) {
        if (!WireFormatLite::SkipField(&in_, tag)) return false;
        continue;
      }
      if (repeated) tensors.emplace_back();
      if (tensors.size() > kMaxOutputs ||
          !ReadPart([&] { return ReadTensor(tensors.back()); }))
        return false;
    }
    return in_.ConsumedEntireMessage();
  }

 private:
  // Reads a length, and with `read` the bytes that have it.
  template <typename Read>
  bool ReadPart(Read read) {
    int size = 0;
    // A limit past the one around it would be ignored.
    if (!in_.ReadVarintSizeAsInt(&size) || size > in_.BytesUntilLimit())
      return false;
    const CodedInputStream::Limit limit = in_.PushLimit(size);
    if (!read() || in_.BytesUntilLimit() != 0) return false;
    in_.PopLimit(limit);
    return true;
  }

  bool ReadTensor(Tensor& tensor) {
    while (const uint32_t tag = in_.ReadTag())
      if (!ReadField(tag, tensor)) return false;
    return in_.ConsumedEntireMessage();
  }

  bool ReadField(uint32_t tag, Tensor& tensor) {
    uint64_t number = 0;
    switch (tag) {
      case kDataType:
        if (!in_.ReadVarint64(&number)) return false;
        tensor.data_type = static_cast<pb::DataType>(number);
        return true;
      case kLayout:
        if (!in_.ReadVarint64(&number)) return false;
        tensor.layout = static_cast<pb::Layout>(number);
        return true;
      case kExtent:
        return ReadExtent(tensor);
      case kExtents:
        return ReadPart([&] {
          while (in_.BytesUntilLimit() > 0)
            if (!ReadExtent(tensor)) return false;
          return true;
        });
      case kData:
        return ReadPart([&] {
          const int size = in_.BytesUntilLimit();
          tensor.data = message_.Sub(static_cast<size_t>(in_.CurrentPosition()),
                                     static_cast<size_t>(size));
          return in_.Skip(size);
        });
      case kValues:
        return false;  // an answer in a form in which nobody asked
      default:
        return WireFormatLite::SkipField(&in_, tag);
    }
  }

  bool ReadExtent(Tensor& tensor) {
    uint64_t extent = 0;
    if (tensor.shape.size() == kMaxRank || !in_.ReadVarint64(&extent))
      return false;
    tensor.shape.push_back(static_cast<int64_t>(extent));
    return true;
  }

  CodedInputStream& in_;
  const Bytes& message_;
};

}  // namespace

grpc::ByteBuffer PackRequest(absl::Span<const Tensor> inputs,
                             const google::protobuf::Message& rest) {
  std::vector<grpc::Slice> slices;
  std::string between;  // two runs of data
  for (const Tensor& input : inputs) {
    // In the order of the fields, as the generated code writes them.
    pb::Tensor before, after;
    before.set_data_type(input.data_type);
    before.mutable_shape()->Add(input.shape.begin(), input.shape.end());
    after.set_layout(input.layout);
    std::string front = before.SerializeAsString();
    AppendLength(kData, input.data.size(), front);
    const std::string back = after.SerializeAsString();
    AppendLength(kTensor, front.size() + input.data.size() + back.size(),
                 between);
    slices.emplace_back(between + front);
    slices.insert(slices.end(), input.data.slices().begin(),
                  input.data.slices().end());
    between = back;
  }
  between += rest.SerializeAsString();
  if (!between.empty()) slices.emplace_back(between);
  return grpc::ByteBuffer(slices.data(), slices.size());
}

absl::StatusOr<std::vector<Tensor>> UnpackResponse(grpc::ByteBuffer& response,
                                                   bool repeated) {
  std::vector<grpc::Slice> slices;
  std::vector<Tensor> tensors;
  bool good = response.Valid() && response.Dump(&slices).ok() &&
              response.Length() <= std::numeric_limits<int>::max();
  if (good) {
    Bytes message;
    for (grpc::Slice& slice : slices) message.Append(std::move(slice));
    grpc::ProtoBufferReader source(&response);
    CodedInputStream in(&source);
    std::ignore = in.PushLimit(static_cast<int>(message.size()));
    good = Reader(in, message).ReadResponse(repeated, tensors);
  }
  if (!good)
    return absl::InternalError(
        "the response is not a message of the contract; is it axisd?");
  return tensors;
}

}  // namespace axis
