#include "server/call/corridor.h"

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "axis/v1/tensor_service.pb.h"
#include "kernels/copy.h"
#include "server/call/codec.h"

namespace axis {
namespace {

template <class Request>
constexpr bool kIsPipeline = std::is_same_v<Request, pb::RunPipelineRequest>;

// How `Request` spells its i-th input: "input" if it has just one.
template <class Request>
std::string InputName(size_t i) {
  return kIsPipeline<Request> ? absl::StrCat("inputs[", i, "]") : "input";
}

// Refuses a response that is too large before anything is copied for it.
// Spelled as values it is checked again when it is spelled; what it takes
// until then is bounded by what the request took, which was admitted. So are
// strings: all that is known of them is that each comes out once.
absl::Status CheckResponse(const Program& program,
                           const std::vector<Input>& inputs,
                           const std::vector<pb::Tensor>& headers,
                           const CallContext& call) {
  int64_t bytes = 0;
  for (const Input& input : inputs) bytes += input.strings.size();
  for (size_t i = 0; i < headers.size(); ++i) {
    const Program::Output& output = program.outputs[i];
    bytes += PackedBytes(
        headers[i],
        headers[i].data_type() == pb::DATA_TYPE_STRING
            ? 0
            : program.buffer_bytes[static_cast<size_t>(output.buffer)]);
  }
  return CheckResponseBytes(bytes, call);
}

// What is in the response before each output.
std::vector<grpc::Slice> PrefixesOf(const Program& program,
                                    const std::vector<pb::Tensor>& headers) {
  std::vector<grpc::Slice> prefixes;
  for (size_t i = 0; i < headers.size(); ++i) {
    const auto buffer = static_cast<size_t>(program.outputs[i].buffer);
    prefixes.emplace_back(DataPrefix(headers[i], program.buffer_bytes[buffer]));
  }
  return prefixes;
}

bool IsLent(const Lent& lent, size_t buffer) {
  return buffer < lent.sources.size() && lent.sources[buffer];
}

std::byte* TargetOf(const Lent& lent, size_t buffer) {
  return buffer < lent.targets.size() ? lent.targets[buffer] : nullptr;
}

// Runs one pass, from buffers[pass.src] to the buffers it writes.
void Run(const Program& program, const Program::Pass& pass,
         std::vector<Payload>& buffers, const CallContext& call,
         const Lent& lent) {
  const Payload& src = buffers[static_cast<size_t>(pass.src)];
  const bool src_is_lent = IsLent(lent, static_cast<size_t>(pass.src));
  absl::InlinedVector<Target, 4> targets;
  int last = -1;  // the buffer that the write before has made
  for (const Program::Write& write : pass.writes) {
    Payload& dst = buffers[static_cast<size_t>(write.buffer)];
    const int64_t bytes =
        program.buffer_bytes[static_cast<size_t>(write.buffer)];
    std::byte* const place = TargetOf(lent, static_cast<size_t>(write.buffer));
    if (place == nullptr && !src_is_lent && IsSlice(write.plan, bytes)) {
      dst = src.Sub(write.plan.src_offset / 8, bytes);
      ++call.report.shared;
    } else if (write.buffer == last) {
      targets.push_back({&write.plan, targets.back().dst});
    } else if (place != nullptr) {
      Zero(write.zeros, place);
      targets.push_back({&write.plan, place});
      dst = Payload(grpc::Slice(place, static_cast<size_t>(bytes),
                                grpc::Slice::STATIC_SLICE));
      ++call.report.strided;
      last = write.buffer;
    } else {
      Buffer buffer = NewBuffer(call.pool, bytes);
      Zero(write.zeros, buffer.data);
      targets.push_back({&write.plan, buffer.data});
      dst = std::move(buffer.payload);
      ++call.report.strided;
      last = write.buffer;
    }
  }
  if (!targets.empty() && Copy(src.Spans(), targets, &call.pool) > 0)
    ++call.report.joined;
  for (const int buffer : pass.dead)
    buffers[static_cast<size_t>(buffer)] = Payload();
}

}  // namespace

absl::Status CheckRequestBytes(int64_t bytes, const CallContext& call) {
  if (bytes <= call.max_message_bytes) return absl::OkStatus();
  call.report.rejected = "message_bytes";
  return absl::ResourceExhaustedError(
      absl::StrCat("the request is ", bytes,
                   " bytes or more, beyond this server's --max_message_bytes=",
                   call.max_message_bytes,
                   "; raise it here and the limits of the client, or send it "
                   "in pieces through StreamPipeline"));
}

absl::Status CheckResponseBytes(int64_t bytes, const CallContext& call) {
  if (bytes <= call.max_message_bytes) return absl::OkStatus();
  call.report.rejected = "message_bytes";
  return absl::ResourceExhaustedError(
      absl::StrCat("the response would be ", bytes,
                   " bytes, more than this server's --max_message_bytes=",
                   call.max_message_bytes,
                   "; raise it here and the receive limit of the client, or "
                   "use StreamPipeline"));
}

int64_t PeakBytes(const Program& program, const Lent& lent) {
  if (lent.sources.empty() && lent.targets.empty()) return program.peak_bytes;
  // Slices of lent sources are copies too: take it that everything lives.
  int64_t bytes = 0;
  for (const Program::Pass& pass : program.passes) {
    int last = -1;
    for (const Program::Write& write : pass.writes) {
      const size_t buffer = static_cast<size_t>(write.buffer);
      if (write.buffer != last && TargetOf(lent, buffer) == nullptr)
        bytes += program.buffer_bytes[buffer];
      last = write.buffer;
    }
  }
  return bytes;
}

absl::Status Execute(const Program& program, std::vector<Payload>& buffers,
                     const CallContext& call, const Lent& lent) {
  buffers.resize(program.buffer_bytes.size());
  for (const Program::Pass& pass : program.passes) {
    if (call.is_over()) return absl::CancelledError("the client gave up");
    Run(program, pass, buffers, call, lent);
  }
  return absl::OkStatus();
}

template <class Request>
absl::Status Serve(grpc::ByteBuffer& request, grpc::ByteBuffer& response,
                   const CallContext& call) {
  if (const Served served =
          ServeByRecipe(Request::descriptor(), request, response, call);
      served.recipe != nullptr)
    return served.status;
  std::vector<Input> inputs;
  std::vector<Op> ops;
  std::optional<Envelope> envelope;
  std::vector<Payload> buffers;
  {
    const Phase phase(call, CallReport::kUnpack);
    std::vector<WireTensor> tensors;
    Request rest;
    AXIS_RETURN_IF_ERROR(Unpack(request, tensors, rest));
    if (call.recipes != nullptr && tensors.size() == 1 && tensors[0].data)
      envelope =
          EnvelopeOf(request, tensors[0].data_end - tensors[0].data->size(),
                     tensors[0].data_end);
    request.Clear();  // the tensors share its slices
    AXIS_ASSIGN_OR_RETURN(ops, DecodeOps(rest));
    if (tensors.empty())
      return FieldError(kIsPipeline<Request> ? "inputs" : "input",
                        "must hold a tensor");
    for (WireTensor& tensor : tensors) {
      absl::StatusOr<Input> input =
          DecodeTensor(std::move(tensor), call.lease, call.pool);
      if (!input.ok())
        return InField(InputName<Request>(inputs.size()), input.status());
      if (call.report.wants_shapes) AppendShape(*input, call.report.shapes);
      buffers.push_back(std::move(input->data));
      inputs.push_back(*std::move(input));
    }
  }
  Program program;
  std::vector<pb::Tensor> headers;
  std::shared_ptr<const Recipe> recipe;
  {
    const Phase phase(call, CallReport::kCompile);
    std::vector<InputSpec> specs;
    specs.reserve(inputs.size());
    for (const Input& input : inputs) specs.push_back(input.spec);
    AXIS_ASSIGN_OR_RETURN(
        program, CompileProgram(specs, ops, [&](size_t k) {
          return kIsPipeline<Request> ? PipelineOpName(ops[k], k) : "op";
        }));
    headers.reserve(program.outputs.size());
    for (const Program::Output& output : program.outputs)
      headers.push_back(EncodeHeader(inputs[static_cast<size_t>(output.input)],
                                     output.shape));
    AXIS_RETURN_IF_ERROR(CheckResponse(program, inputs, headers, call));
    // The length of strings is in their bytes.
    if (envelope && inputs[0].data_type != pb::DATA_TYPE_STRING) {
      std::vector<grpc::Slice> prefixes = PrefixesOf(program, headers);
      Recipe found{.type = Request::descriptor(),
                   .message_bytes = envelope->size() + buffers[0].size(),
                   .envelope = *std::move(envelope),
                   .program = std::move(program),
                   .prefixes = std::move(prefixes),
                   .prefix_id_begin = 0,
                   .shapes = {}};
      AppendShape(inputs[0], found.shapes);
      recipe = call.recipes->Keep(std::move(found));
    }
  }
  if (recipe != nullptr)
    return Follow(*recipe, /*id=*/"", std::move(buffers[0]), response, call);
  // NOLINTNEXTLINE(bugprone-use-after-move): no recipe has it.
  AXIS_RETURN_IF_ERROR(call.lease.Take(program.peak_bytes));
  {
    const Phase phase(call, CallReport::kCopy);
    AXIS_RETURN_IF_ERROR(Execute(program, buffers, call));
  }
  const Phase phase(call, CallReport::kPack);
  std::vector<OutTensor> outputs;
  for (size_t i = 0; i < headers.size(); ++i) {
    const Program::Output& output = program.outputs[i];
    outputs.push_back(EncodeTensor(
        inputs[static_cast<size_t>(output.input)], std::move(headers[i]),
        buffers[static_cast<size_t>(output.buffer)], call.pool));
  }
  response = Pack(outputs);
  return CheckResponseBytes(static_cast<int64_t>(response.Length()), call);
}

template absl::Status Serve<pb::TransposeRequest>(grpc::ByteBuffer&,
                                                  grpc::ByteBuffer&,
                                                  const CallContext&);
template absl::Status Serve<pb::ShuffleChannelsRequest>(grpc::ByteBuffer&,
                                                        grpc::ByteBuffer&,
                                                        const CallContext&);
template absl::Status Serve<pb::VariadicSplitRequest>(grpc::ByteBuffer&,
                                                      grpc::ByteBuffer&,
                                                      const CallContext&);
template absl::Status Serve<pb::ShuffleRequest>(grpc::ByteBuffer&,
                                                grpc::ByteBuffer&,
                                                const CallContext&);
template absl::Status Serve<pb::RunPipelineRequest>(grpc::ByteBuffer&,
                                                    grpc::ByteBuffer&,
                                                    const CallContext&);

}  // namespace axis
