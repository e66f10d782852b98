#include "server/oip/inference.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/elements/strings.h"
#include "server/models/index_tensor.h"
#include "server/models/repository.h"
#include "server/oip/message/region.h"
#include "server/process/out_of_memory.h"

namespace axis {
namespace {

// Parameters of the request: those of the model, of its inputs, of clients.
absl::Status CheckParameters(const Model& model, const Parameters& given) {
  for (const auto& [name, value] : given) {
    bool known = model.Takes(name) || IsOfClients(name);
    for (const ModelTensor& input : model.spec().inputs)
      known |= name == absl::StrCat(input.name, ".data_type") ||
               name == absl::StrCat(input.name, ".shape");
    if (!known)
      return FieldError(
          absl::StrCat("parameters.", name),
          absl::StrCat("is no parameter of model ", model.spec().name));
  }
  return absl::OkStatus();
}

absl::Status CheckWhole(const Span& span) {
  if (span.region->IsWhole()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "a shared memory object became smaller while it was in use");
}

}  // namespace

absl::Status Inference::Unpack(InferRequest& request) {
  const Phase phase(call_, CallReport::kUnpack);
  const Parameters& parameters = request.head.parameters();
  AXIS_RETURN_IF_ERROR(CheckParameters(model_, parameters));
  AXIS_ASSIGN_OR_RETURN(const pb::Layout layout, model_.LayoutOf(parameters));
  AXIS_ASSIGN_OR_RETURN(auto inputs,
                        DecodeInputs(model_, layout, request, regions_, call_));
  ModelArgs args{{}, {}, parameters};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ModelTensor& tensor = model_.spec().inputs[i];
    args.shapes.emplace_back();
    args.indices.emplace_back();
    if (!inputs[i]) continue;
    if (tensor.is_index) {
      const Input& input = inputs[i]->input;
      AXIS_ASSIGN_OR_RETURN(
          args.indices.back(),
          ReadIndex(input.data_type, input.spec.shape, input.data,
                    absl::StrCat("inputs.", tensor.name)));
      continue;
    }
    args.shapes.back() = inputs[i]->input.spec.shape;
    if (call_.report.wants_shapes)
      AppendShape(inputs[i]->input, call_.report.shapes);
    inputs_.push_back(*std::move(inputs[i]));
  }
  for (const Constant& constant : model_.constants())
    inputs_.push_back(ConstantInput(constant));
  AXIS_ASSIGN_OR_RETURN(binding_, model_.Bind(args));
  AXIS_ASSIGN_OR_RETURN(wanted_,
                        DecodeOutputs(request.head, binding_, regions_));
  return absl::OkStatus();
}

absl::Status Inference::Compile(const oip::ModelInferRequest& request) {
  const Phase phase(call_, CallReport::kCompile);
  std::vector<size_t> results;
  for (const WantedOutput& output : wanted_)
    results.push_back(binding_.graph.results[output.result]);
  binding_.graph.results = std::move(results);
  std::vector<InputSpec> specs;
  for (const InferInput& input : inputs_) specs.push_back(input.input.spec);
  AXIS_ASSIGN_OR_RETURN(program_,
                        CompileProgram(specs, binding_.graph, [this](size_t k) {
                          return model_.StepName(k);
                        }));
  head_.set_model_name(request.model_name());
  head_.set_model_version(kModelVersion);
  head_.set_id(request.id());
  if (const auto it =
          request.parameters().find("triton_enable_empty_final_response");
      it != request.parameters().end() && it->second.bool_param()) {
    const WaitsForMemory scope;
    (*head_.mutable_parameters())["triton_final_response"].set_bool_param(true);
  }
  for (size_t i = 0; i < wanted_.size(); ++i)
    AXIS_RETURN_IF_ERROR(AddOutput(i));
  AXIS_RETURN_IF_ERROR(CheckResponse());
  AXIS_RETURN_IF_ERROR(SeparateRegions());
  Lend();
  return absl::OkStatus();
}

std::optional<Recipe> Inference::TakeRecipe(RawEnvelope around, Payload& data) {
  if (inputs_.size() != 1 || around.input != inputs_[0].index ||
      inputs_[0].input.data_type == pb::DATA_TYPE_STRING || wanted_.empty())
    return std::nullopt;
  std::vector<int64_t> bytes;
  for (size_t i = 0; i < wanted_.size(); ++i) {
    if (wanted_[i].span) return std::nullopt;
    bytes.push_back(BytesOf(i));
  }
  Input& input = inputs_[0].input;
  data = std::move(input.data);
  Recipe recipe{.type = oip::ModelInferRequest::descriptor(),
                .message_bytes = around.envelope.size() + data.size(),
                .envelope = std::move(around.envelope),
                .program = std::move(program_),
                .prefixes = PrefixesOf(head_, bytes),
                .prefix_id_begin = 0,
                .shapes = {},
                .model = &model_};
  oip::ModelInferResponse named;  // as far as the end of the id
  named.set_model_name(head_.model_name());
  named.set_model_version(head_.model_version());
  named.set_id(head_.id());
  recipe.prefix_id_begin = named.ByteSizeLong() - head_.id().size();
  AppendShape(input, recipe.shapes);
  return recipe;
}

absl::Status Inference::Execute() {
  AXIS_RETURN_IF_ERROR(call_.lease.Take(PeakBytes(program_, lent_)));
  const Phase phase(call_, CallReport::kCopy);
  for (InferInput& input : inputs_)
    buffers_.push_back(std::move(input.input.data));
  AXIS_RETURN_IF_ERROR(axis::Execute(program_, buffers_, call_, lent_));
  for (const InferInput& input : inputs_)
    if (input.span) AXIS_RETURN_IF_ERROR(CheckWhole(*input.span));
  return absl::OkStatus();
}

absl::Status Inference::Pack(grpc::ByteBuffer& response) {
  const Phase phase(call_, CallReport::kPack);
  std::vector<Payload> contents;
  for (size_t i = 0; i < wanted_.size(); ++i) {
    Payload data = std::move(BufferOf(i));
    const Input& from = InputOf(i).input;
    if (from.data_type == pb::DATA_TYPE_STRING)
      data = GatherStrings(from.strings, data, call_.pool);
    if (wanted_[i].span) {
      if (from.data_type == pb::DATA_TYPE_STRING)
        AXIS_RETURN_IF_ERROR(StoreStrings(i, data));
      AXIS_RETURN_IF_ERROR(CheckWhole(*wanted_[i].span));
      data = Payload();
    }
    contents.push_back(std::move(data));
  }
  response = PackInfer(head_, contents);
  return CheckResponseBytes(static_cast<int64_t>(response.Length()), call_);
}

absl::Status Inference::AddOutput(size_t i) {
  const InferInput& from = InputOf(i);
  const WantedOutput& wanted = wanted_[i];
  auto& output = *head_.add_outputs();
  output.set_name(binding_.outputs[wanted.result]);
  DescribeOutput(from.input.data_type, program_.outputs[i].shape,
                 from.described, BytesOf(i), output);
  if (!wanted.span) return absl::OkStatus();
  if (from.input.data_type != pb::DATA_TYPE_STRING &&
      BytesOf(i) > wanted.span->size)
    return TooSmall(i, BytesOf(i));
  SetRegion(*wanted.span, wanted.region, *output.mutable_parameters());
  return absl::OkStatus();
}

absl::Status Inference::TooSmall(size_t i, int64_t bytes) const {
  return FieldError(
      absl::StrCat("outputs[", i, "].parameters.shared_memory_byte_size"),
      absl::StrCat("must be at least ", bytes, ", is ", wanted_[i].span->size));
}

// As in the native service: strings are bounded by what came in.
absl::Status Inference::CheckResponse() {
  std::vector<int64_t> bytes;
  for (size_t i = 0; i < wanted_.size(); ++i) {
    const bool is_string = InputOf(i).input.data_type == pb::DATA_TYPE_STRING;
    bytes.push_back(wanted_[i].span || is_string ? 0 : BytesOf(i));
  }
  int64_t strings = 0;
  for (const InferInput& input : inputs_) strings += input.input.strings.size();
  return CheckResponseBytes(PackedBytes(head_, bytes) + strings, call_);
}

Span Inference::TargetOf(size_t i) const {
  Span span = *wanted_[i].span;
  if (InputOf(i).input.data_type != pb::DATA_TYPE_STRING)
    span.size = BytesOf(i);
  return span;
}

absl::Status Inference::SeparateRegions() {
  for (size_t i = 0; i < wanted_.size(); ++i) {
    if (!wanted_[i].span) continue;
    const Span target = TargetOf(i);
    for (size_t k = 0; k < i; ++k)
      if (wanted_[k].span && target.Overlaps(TargetOf(k)))
        return FieldError(
            absl::StrCat("outputs[", i, "]"),
            absl::StrCat("overlaps outputs[", k, "] in shared memory"));
    for (InferInput& input : inputs_) {
      if (!input.span || !target.Overlaps(*input.span)) continue;
      AXIS_ASSIGN_OR_RETURN(input.input.data, OwnCopy(input.input.data, call_));
      input.span.reset();
    }
  }
  return absl::OkStatus();
}

void Inference::Lend() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].span) continue;
    lent_.sources.resize(inputs_.size());
    lent_.sources[i] = true;
  }
  for (size_t i = 0; i < wanted_.size(); ++i) {
    if (!wanted_[i].span || InputOf(i).input.data_type == pb::DATA_TYPE_STRING)
      continue;
    lent_.targets.resize(program_.buffer_bytes.size());
    lent_.targets[static_cast<size_t>(program_.outputs[i].buffer)] =
        wanted_[i].span->data();
  }
}

absl::Status Inference::StoreStrings(size_t i, const Payload& data) {
  const Span& span = *wanted_[i].span;
  if (data.size() > span.size) return TooSmall(i, data.size());
  std::byte* next = span.data();
  for (const auto piece : data.Spans()) {
    std::memcpy(next, piece.data(), piece.size());
    next += piece.size();
  }
  return absl::OkStatus();
}

}  // namespace axis
