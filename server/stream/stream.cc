#include "server/stream/stream.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/status.h"
#include "server/wire/wire.h"

namespace axis {
namespace {

// What a stream holds beside its route: the backlog, as much packed, and a
// batch brought together for the engine.
constexpr int64_t kChunkBytes = 2 * kBacklogBytes + kBatchBytes;

// Plans count bits, with room to add a few.
constexpr int64_t kMaxTensorBytes = int64_t{1} << 58;

// What a response message takes beside its data, at most: a header of 32
// extents. A multiple of the page size, so that pages are shared whole.
constexpr int64_t kHeaderBytes = 4096;

// A slice this small is cheaper copied than kept: it may be the end of a large
// one.
constexpr int64_t kSmallSlice = 64;

constexpr char kOnlyFirst[] =
    "must be set in the first message of a stream only";

// `payload` in one piece if it is many small ones.
Payload Compact(Payload payload) {
  if (payload.slices().size() <= 1 || CostOf(payload) == payload.size())
    return payload;
  std::string bytes;
  bytes.reserve(static_cast<size_t>(payload.size()));
  for (const auto span : payload.Spans())
    bytes.append(reinterpret_cast<const char*>(span.data()), span.size());
  return Payload(grpc::Slice(bytes));
}

// A message that is not the first may hold nothing but data.
absl::Status CheckRest(const pb::Tensor& header) {
  if (header.data_type() != 0) return FieldError("data_type", kOnlyFirst);
  if (header.shape_size() > 0) return FieldError("shape", kOnlyFirst);
  if (header.layout() != 0) return FieldError("layout", kOnlyFirst);
  return absl::OkStatus();
}

}  // namespace

absl::Status Stream::Receive(grpc::ByteBuffer& message) {
  std::vector<WireTensor> tensors;
  pb::StreamPipelineRequest rest;
  {
    const Phase phase(call_, CallReport::kUnpack);
    AXIS_RETURN_IF_ERROR(Unpack(message, tensors, rest));
    message.Clear();  // the tensor shares its slices
  }
  if (route_ == nullptr && tensors.empty())
    return FieldError("input", "must hold a tensor");
  if (!tensors.empty() && tensors[0].values)
    return InField("input", FieldError("values", "must be `data` in a stream"));
  if (route_ == nullptr) {
    AXIS_RETURN_IF_ERROR(Begin(tensors[0], rest));
  } else {
    if (!tensors.empty())
      AXIS_RETURN_IF_ERROR(InField("input", CheckRest(tensors[0].header)));
    if (rest.ops_size() > 0) return FieldError("ops", kOnlyFirst);
  }
  if (tensors.empty() || !tensors[0].data) return absl::OkStatus();
  return Append(*std::move(tensors[0].data));
}

absl::Status Stream::Begin(WireTensor& tensor,
                           const pb::StreamPipelineRequest& rest) {
  std::vector<Op> ops;
  {
    const Phase phase(call_, CallReport::kUnpack);
    AXIS_ASSIGN_OR_RETURN(ops, DecodeOps(rest));
    if (tensor.header.data_type() == pb::DATA_TYPE_STRING)
      return FieldError("input.data_type", "must not be STRING in a stream");
    TensorSize size;
    absl::StatusOr<Input> input = DecodeHeader(tensor.header, size);
    if (!input.ok()) return InField("input", input.status());
    if (size.bytes > kMaxTensorBytes)
      return FieldError("input.shape",
                        absl::StrCat("must take at most ", kMaxTensorBytes,
                                     " bytes, takes ", size.bytes));
    input_ = *std::move(input);
    if (call_.report.wants_shapes) AppendShape(input_, call_.report.shapes);
  }
  const Phase phase(call_, CallReport::kCompile);
  AXIS_ASSIGN_OR_RETURN(program_,
                        CompileProgram({&input_.spec, 1}, ops, [&](size_t k) {
                          return PipelineOpName(ops[k], k);
                        }));
  const RouteKind kind = RouteOf(program_);
  int64_t bytes;
  AXIS_RETURN_IF_ERROR(Admit(kind, bytes));
  route_ = MakeRoute(kind, program_, bytes, call_);
  return absl::OkStatus();
}

// Takes what the stream holds at the worst from the lease, and says how much of
// that is for the route.
absl::Status Stream::Admit(RouteKind kind, int64_t& bytes) {
  const RouteBytes route = BytesOf(kind, program_);
  const int64_t chunks = std::min(kChunkBytes, 2 * program_.buffer_bytes[0]);
  bytes = route.best;
  if (call_.lease.Take(chunks + bytes).ok()) return absl::OkStatus();
  bytes = route.least;
  return call_.lease.Take(chunks + bytes);
}

absl::Status Stream::Append(const Payload& data) {
  const int64_t size = program_.buffer_bytes[0];
  if (data.size() > size - received_)
    return FieldError("input.data",
                      absl::StrCat("must hold ", size,
                                   " bytes in all for this type and shape, "
                                   "holds ",
                                   data.size() - (size - received_), " more"));
  received_ += data.size();
  for (const grpc::Slice& slice : data.slices()) pending_.Append(slice);
  if (data.size() > kBacklogBytes) {
    excess_.emplace(admission_);
    return excess_->Take(pending_.size());
  }
  return absl::OkStatus();
}

absl::Status Stream::HalfClose() {
  if (route_ == nullptr) return FieldError("input", "must hold a tensor");
  half_closed_ = true;
  const int64_t size = program_.buffer_bytes[0];
  if (received_ == size) return absl::OkStatus();
  return FieldError(
      "input.data",
      absl::StrCat("must hold ", size,
                   " bytes in all for this type and shape, holds ", received_));
}

absl::StatusOr<bool> Stream::Work() {
  if (route_ == nullptr) return false;
  const Phase phase(call_, CallReport::kCopy);
  AXIS_ASSIGN_OR_RETURN(const bool moved, route_->Feed(pending_));
  if (!moved) return false;
  if (pending_.size() <= kBacklogBytes) excess_.reset();
  if (pending_.size() > 0 && pending_.size() < kSmallSlice) {
    Payload small;
    for (const grpc::Slice& slice : pending_.slices())
      small.Append(grpc::Slice(slice.begin(), slice.size()));
    pending_ = std::move(small);
  }
  return true;
}

std::optional<grpc::ByteBuffer> Stream::NextMessage() {
  if (route_ == nullptr || output_ == program_.outputs.size())
    return std::nullopt;
  const Phase phase(call_, CallReport::kPack);
  const Program::Output& output = program_.outputs[output_];
  const int64_t left =
      program_.buffer_bytes[static_cast<size_t>(output.buffer)] - taken_;
  const int64_t limit = std::min(kMaxResponseBytes, call_.max_message_bytes);
  const int64_t room = std::max(limit - kHeaderBytes, limit / 4);
  OutTensor piece;
  if (left > 0) {
    piece.data = Compact(route_->Take(std::min(left, room)));
    if (piece.data.size() == 0) return std::nullopt;
  }
  if (!begun_) piece.header = EncodeHeader(input_, output.shape);
  begun_ = true;
  taken_ += piece.data.size();
  if (piece.data.size() == left) {
    ++output_;
    taken_ = 0;
    begun_ = false;
  }
  grpc::ByteBuffer message = Pack({&piece, 1});
  call_.report.sent_bytes += static_cast<int64_t>(message.Length());
  return message;
}

bool Stream::IsLight(int64_t bytes) const {
  constexpr int64_t kLightMessages = 2 << 20;
  return route_ != nullptr && bytes < kLightMessages &&
         route_->IsLight(bytes + pending_.size());
}

bool Stream::IsDone() const {
  return half_closed_ && route_ != nullptr &&
         output_ == program_.outputs.size();
}

}  // namespace axis
