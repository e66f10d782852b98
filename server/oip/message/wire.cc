#include "server/oip/message/wire.h"

#include <google/protobuf/io/coded_stream.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/ops.h"
#include "kernels/status.h"
#include "server/process/out_of_memory.h"
#include "server/wire/wire.h"
#include "server/wire/wire_reader.h"

namespace axis {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;
using Request = oip::ModelInferRequest;
using InputTensor = Request::InferInputTensor;

constexpr int kMaxDepth = 100;  // protobuf's default, as in wire.cc

// Parameters of a request; an op has four at most, clients send a few.
constexpr int kMaxParameters = 4 * kMaxInputs;

// What a byte of the rest costs once parsed, at most: an entry of a map is an
// object of some hundred bytes made of four or more.
constexpr int64_t kRestCost = 40;

constexpr uint32_t Delimited(int field) {
  return WireFormatLite::MakeTag(field,
                                 WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

absl::Status Malformed() {
  return absl::InvalidArgumentError(
      "the request is not a valid protobuf message");
}

void AppendLength(int field, int64_t length, std::string& out) {
  uint8_t bytes[11];
  bytes[0] = static_cast<uint8_t>(Delimited(field));
  uint8_t* end = CodedOutputStream::WriteVarint64ToArray(
      static_cast<uint64_t>(length), bytes + 1);
  out.append(&bytes[0], end);
}

int64_t FramedBytes(int64_t bytes) {
  return 1 +
         static_cast<int64_t>(
             CodedOutputStream::VarintSize64(static_cast<uint64_t>(bytes))) +
         bytes;
}

// Counts what must not be too many.
class Counts {
 public:
  absl::Status Add(const char* field, int& count, int64_t max) {
    if (++count <= max) return absl::OkStatus();
    return FieldError(field, absl::StrCat("must hold at most ", max));
  }
  int inputs = 0, outputs = 0, parameters = 0, raw = 0;
};

// Adds the field from `begin` to where `in` stands to `rest`; `field` is what
// to blame, "" for that of the caller.
absl::Status Keep(const char* field, WireReader begin, const WireReader& in,
                  std::string& rest) {
  if (in.position() - begin.position() >
      kMaxRestBytes - static_cast<int64_t>(rest.size()))
    return FieldError(field, absl::StrCat("must take at most ", kMaxRestBytes,
                                          " bytes without the contents"));
  return begin.CopyTo(in.position(), rest) ? absl::OkStatus() : Malformed();
}

// Skips a message up to `limit`. Of several parts of one message each must be a
// message, not only all of them together.
bool SkipFields(WireReader& in, int64_t limit) {
  int64_t fields = 0;
  while (in.position() < limit) {
    uint32_t tag;
    if (!in.ReadTag(tag) || !in.SkipField(tag, limit, kMaxDepth - 2, fields))
      return false;
  }
  return in.position() == limit;
}

// Reads an InferInputTensor up to `limit`: its contents apart from the rest.
absl::Status ReadInput(WireReader& in, int64_t limit, Counts& counts,
                       std::optional<Payload>& contents, std::string& rest) {
  int parts = 0;
  while (in.position() < limit) {
    const WireReader begin = in;
    uint32_t tag;
    if (!in.ReadTag(tag)) return Malformed();
    if (tag == Delimited(InputTensor::kContentsFieldNumber)) {
      int64_t end;
      if (!in.ReadLength(limit, end)) return Malformed();
      AXIS_RETURN_IF_ERROR(counts.Add("contents", parts, kMaxValuesParts));
      if (!contents) contents.emplace();
      WireReader share = in;
      if (!SkipFields(in, end)) return Malformed();
      if (!share.ShareTo(end, *contents)) return Malformed();
      continue;
    }
    if (tag == Delimited(InputTensor::kParametersFieldNumber))
      AXIS_RETURN_IF_ERROR(
          counts.Add("parameters", counts.parameters, kMaxParameters));
    int64_t fields = 0;
    if (!in.SkipField(tag, limit, kMaxDepth - 1, fields)) return Malformed();
    AXIS_RETURN_IF_ERROR(Keep("", begin, in, rest));
  }
  return in.position() == limit ? absl::OkStatus() : Malformed();
}

absl::Status CheckCount(uint32_t tag, Counts& counts) {
  switch (tag) {
    case Delimited(Request::kParametersFieldNumber):
      return counts.Add("parameters", counts.parameters, kMaxParameters);
    case Delimited(Request::kOutputsFieldNumber):
      return counts.Add("outputs", counts.outputs, kMaxOutputs);
    default:
      return absl::OkStatus();
  }
}

}  // namespace

absl::Status UnpackInfer(const grpc::ByteBuffer& message,
                         Admission::Lease& lease, InferRequest& request) {
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok()) return Malformed();
  int64_t size = 0;
  for (const grpc::Slice& slice : slices)
    size += static_cast<int64_t>(slice.size());
  std::string rest, input;
  Counts counts;
  WireReader in(slices);
  while (in.position() < size) {
    const WireReader begin = in;
    uint32_t tag;
    int64_t end;
    if (!in.ReadTag(tag)) return Malformed();
    if (tag == Delimited(Request::kRawInputContentsFieldNumber)) {
      if (!in.ReadLength(size, end)) return Malformed();
      AXIS_RETURN_IF_ERROR(
          counts.Add("raw_input_contents", counts.raw, kMaxInputs));
      if (!in.ShareTo(end, request.raw.emplace_back())) return Malformed();
      request.raw_ends.push_back(end);
      continue;
    }
    if (tag == Delimited(Request::kInputsFieldNumber)) {
      if (!in.ReadLength(size, end)) return Malformed();
      AXIS_RETURN_IF_ERROR(counts.Add("inputs", counts.inputs, kMaxInputs));
      input.clear();
      AXIS_RETURN_IF_ERROR(InField(
          absl::StrCat("inputs[", counts.inputs - 1, "]"),
          ReadInput(in, end, counts, request.contents.emplace_back(), input)));
      AppendLength(Request::kInputsFieldNumber,
                   static_cast<int64_t>(input.size()), rest);
      rest += input;
      if (static_cast<int64_t>(rest.size()) > kMaxRestBytes)
        return FieldError("inputs",
                          absl::StrCat("must take at most ", kMaxRestBytes,
                                       " bytes without the contents"));
      continue;
    }
    AXIS_RETURN_IF_ERROR(CheckCount(tag, counts));
    int64_t fields = 0;
    if (!in.SkipField(tag, size, kMaxDepth, fields)) return Malformed();
    if (tag == Delimited(Request::kIdFieldNumber))
      request.id_end = in.position();
    AXIS_RETURN_IF_ERROR(Keep("parameters", begin, in, rest));
  }
  AXIS_RETURN_IF_ERROR(
      lease.Take(kRestCost * static_cast<int64_t>(rest.size())));
  const WaitsForMemory scope;
  return request.head.ParseFromString(rest) ? absl::OkStatus() : Malformed();
}

int64_t PackedBytes(const oip::ModelInferResponse& head,
                    std::span<const int64_t> outputs) {
  int64_t bytes = static_cast<int64_t>(head.ByteSizeLong());
  for (const int64_t output : outputs) bytes += FramedBytes(output);
  return bytes;
}

std::vector<grpc::Slice> PrefixesOf(const oip::ModelInferResponse& head,
                                    std::span<const int64_t> outputs) {
  std::vector<grpc::Slice> prefixes;
  std::string prefix = head.SerializeAsString();
  for (const int64_t bytes : outputs) {
    AppendLength(oip::ModelInferResponse::kRawOutputContentsFieldNumber, bytes,
                 prefix);
    prefixes.emplace_back(prefix);
    prefix.clear();
  }
  if (!prefix.empty()) prefixes.emplace_back(prefix);
  return prefixes;
}

grpc::ByteBuffer PackInfer(const oip::ModelInferResponse& head,
                           std::span<const Payload> outputs) {
  std::vector<int64_t> bytes;
  for (const Payload& output : outputs) bytes.push_back(output.size());
  std::vector<grpc::Slice> slices;
  size_t i = 0;
  for (grpc::Slice& prefix : PrefixesOf(head, bytes)) {
    slices.push_back(std::move(prefix));
    if (i == outputs.size()) break;
    const std::vector<grpc::Slice>& data = outputs[i++].slices();
    slices.insert(slices.end(), data.begin(), data.end());
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

grpc::ByteBuffer PackStreamed(const grpc::ByteBuffer& response) {
  std::string prefix;
  AppendLength(oip::ModelStreamInferResponse::kInferResponseFieldNumber,
               static_cast<int64_t>(response.Length()), prefix);
  std::vector<grpc::Slice> slices;
  // Cannot fail: the response is ours and not compressed.
  if (!response.Dump(&slices).ok()) slices.clear();
  slices.insert(slices.begin(), grpc::Slice(prefix));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace axis
