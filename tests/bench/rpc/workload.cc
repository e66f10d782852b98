#include "tests/bench/rpc/workload.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "absl/strings/match.h"
#include "axis/v1/tensor_service.pb.h"
#include "inference/infer.pb.h"
#include "kernels/copy.h"
#include "tests/bench/rpc/infer.h"

namespace axis::bench {
namespace {

namespace pb = ::axis::v1;
namespace oip = ::inference;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::StringOutputStream;

constexpr int64_t kItemBytes = 4;
constexpr size_t kChunkBytes = size_t{1} << 20;
const int64_t kToNchw[] = {0, 3, 1, 2};

// A tag of the wire format: field `number`, length-delimited.
constexpr uint32_t Delimited(int number) {
  return static_cast<uint32_t>(number) << 3 | 2;
}

// A request with a tensor in field 1 that ends in `bytes` bytes at `data`, and
// then `rest`, fields by number as generated code writes them.
grpc::ByteBuffer Message(const pb::Tensor& tensor, const std::byte* data,
                         size_t bytes, const std::string& rest) {
  std::string meta = tensor.SerializeAsString();
  {
    StringOutputStream stream(&meta);
    CodedOutputStream out(&stream);
    out.WriteTag(Delimited(pb::Tensor::kDataFieldNumber));
    out.WriteVarint64(bytes);
  }
  std::string header;
  {
    StringOutputStream stream(&header);
    CodedOutputStream out(&stream);
    out.WriteTag(Delimited(pb::TransposeRequest::kInputFieldNumber));
    out.WriteVarint64(meta.size() + bytes);
  }
  const grpc::Slice slices[] = {
      grpc::Slice(header + meta),
      grpc::Slice(data, bytes, grpc::Slice::STATIC_SLICE), grpc::Slice(rest)};
  return grpc::ByteBuffer(slices, rest.empty() ? 2 : 3);
}

}  // namespace

Workload::Workload(Shape shape)
    : shape_(std::move(shape)),
      bytes_(kItemBytes * shape_[0] * shape_[1] * shape_[2] * shape_[3]),
      pool_(std::make_shared<BufferPool>(0)),
      payload_(pool_->Get(bytes_)),
      transposed_(pool_->Get(bytes_)),
      scratch_(pool_->Get(bytes_)) {
  if (!payload_ || !transposed_ || !scratch_) throw std::bad_alloc();
  auto* items = reinterpret_cast<uint32_t*>(payload_.get());
  for (int64_t i = 0; i < bytes_ / kItemBytes; ++i)
    items[i] = static_cast<uint32_t>(i) * 2654435761u >> 4;
  // From the definition, not by the engine: this is what it must do.
  auto* out = reinterpret_cast<uint32_t*>(transposed_.get());
  const int64_t pixels = shape_[1] * shape_[2], channels = shape_[3];
  for (int64_t n = 0; n < shape_[0]; ++n, items += pixels * channels)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t p = 0; p < pixels; ++p) *out++ = items[p * channels + c];
  Memcpy();
  Copy();
  if (std::memcmp(scratch_.get(), transposed_.get(), size()) != 0)
    throw std::logic_error("the engine is wrong");
}

Workload::~Workload() = default;

Exchange Workload::MakeExchange(const std::string& kind) {
  if (kind == "infer" || kind == "shm" || kind == "register") {
    if (kind != "infer" && shared_ == nullptr)
      shared_ = std::make_unique<SharedTensor>(payload_.get(), size());
    if (kind == "register") return shared_->Registration();
    Exchange exchange = kind == "infer"
                            ? InferExchange(shape_, payload_.get(), size())
                            : shared_->Infer(shape_);
    exchange.expected = transposed_.get();
    if (kind == "shm") exchange.output = shared_->output();
    return exchange;
  }
  pb::Tensor tensor;
  tensor.set_data_type(pb::DATA_TYPE_F32);
  tensor.mutable_shape()->Add(shape_.begin(), shape_.end());
  const std::string service = "/axis.v1.TensorService/";
  if (kind == "stream") {
    pb::StreamPipelineRequest first;
    first.add_ops()->mutable_transpose()->mutable_order()->Add(
        std::begin(kToNchw), std::end(kToNchw));
    Exchange exchange{service + "StreamPipeline", {}, true, transposed_.get()};
    for (size_t at = 0; at < size(); at += kChunkBytes) {
      const size_t bytes = std::min(kChunkBytes, size() - at);
      const bool is_first = at == 0;
      exchange.requests.push_back(
          Message(is_first ? tensor : pb::Tensor(), payload_.get() + at, bytes,
                  is_first ? first.SerializeAsString() : ""));
    }
    return exchange;
  }
  std::string method = "Transpose", op;
  const std::byte* expected = payload_.get();
  if (kind == "split") {
    pb::VariadicSplitRequest request;
    for (int i = 0; i < 2; ++i)
      request.mutable_op()->add_split_lengths(shape_[0] / 2);
    method = "VariadicSplit";
    op = request.SerializeAsString();
  } else {
    pb::TransposeRequest request;
    auto& order = *request.mutable_op()->mutable_order();
    if (kind == "transpose" || kind == "echo") {
      order.Add(std::begin(kToNchw), std::end(kToNchw));
      if (kind == "transpose") expected = transposed_.get();
    } else if (kind == "identity") {
      for (int64_t i = 0; i < 4; ++i) order.Add(i);
    } else {
      throw std::invalid_argument("unknown kind of call: " + kind);
    }
    op = request.SerializeAsString();
  }
  return {service + method,
          {Message(tensor, payload_.get(), size(), op)},
          false,
          expected};
}

std::string Workload::Complaint(
    const Exchange& exchange,
    const std::vector<grpc::ByteBuffer>& responses) const {
  if (exchange.output != nullptr)
    return std::memcmp(exchange.output, exchange.expected, size()) == 0
               ? ""
               : "wrong";
  // All responses, and an echoed request too, have their tensors in field 1;
  // those of the other protocol have the bytes in raw_output_contents.
  size_t at = 0;
  for (const grpc::ByteBuffer& response : responses) {
    std::vector<grpc::Slice> slices;
    std::string bytes;
    pb::RunPipelineResponse message;
    if (!response.Dump(&slices).ok()) return "cannot be read";
    bytes.reserve(response.Length());
    for (const grpc::Slice& slice : slices)
      bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    if (absl::StrContains(exchange.method, "inference.")) {
      oip::ModelInferResponse answer;
      if (!answer.ParseFromString(bytes) ||
          answer.raw_output_contents_size() != 1)
        return "cannot be parsed";
      message.add_outputs()->set_data(answer.raw_output_contents(0));
    } else if (!message.ParseFromString(bytes)) {
      return "cannot be parsed";
    }
    for (const pb::Tensor& output : message.outputs()) {
      const std::string& data = output.data();
      if (data.size() > size() - at) return "too long";
      if (std::memcmp(data.data(), exchange.expected + at, data.size()) != 0)
        return "wrong";
      at += data.size();
    }
  }
  return at == size() ? "" : "too short";
}

void Workload::Memcpy() { std::memcpy(scratch_.get(), payload_.get(), size()); }

void Workload::Copy() { CopyBetween(payload_.get(), scratch_.get()); }

void Workload::CopyShared() {
  if (shared_ == nullptr)
    shared_ = std::make_unique<SharedTensor>(payload_.get(), size());
  CopyBetween(shared_->input(), shared_->output());
}

void Workload::CopyBetween(const std::byte* src, std::byte* dst) const {
  const InputSpec input{shape_, 8 * kItemBytes};
  const axis::Op op = Transpose{{std::begin(kToNchw), std::end(kToNchw)}};
  const absl::StatusOr<Program> program =
      CompileProgram({&input, 1}, {&op, 1}, [](size_t) { return "op"; });
  const std::span<const std::byte> source(src, size());
  const Target target{&program->passes[0].writes[0].plan, dst};
  axis::Copy({&source, 1}, {&target, 1});
}

}  // namespace axis::bench
