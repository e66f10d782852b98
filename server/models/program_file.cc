#include "server/models/program_file.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/status.h"
#include "proto/first_error.h"
#include "server/call/codec.h"
#include "server/elements/strings.h"
#include "server/models/file.h"

namespace axis {
namespace {

constexpr int64_t kMaxFileBytes = 1 << 20;
// An op lies three messages deep.
constexpr int kMaxDepth = 8;

absl::StatusOr<pb::Program> Parse(const std::string& text) {
  pb::Program program;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMaxDepth);
  if (parser.ParseFromString(text, &program)) return program;
  return absl::InvalidArgumentError(
      absl::StrCat("not an axis.v1.Program: line ", error.line(), ", column ",
                   error.column(), ": ", error.what()));
}

absl::StatusOr<ModelTensor> ToTensor(const pb::ProgramInput& input) {
  ModelTensor tensor{.name = input.name().empty() ? "input" : input.name()};
  if (!pb::DataType_IsValid(input.data_type()))
    return FieldError("data_type", "must be a DataType of axis.v1");
  if (input.data_type() != pb::DATA_TYPE_UNSPECIFIED)
    tensor.type = input.data_type();
  if (input.shape_size() > 0)
    tensor.shape = Shape(input.shape().begin(), input.shape().end());
  return tensor;
}

size_t OutputsOf(const Op& op) {
  const auto* split = std::get_if<VariadicSplit>(&op);
  return split == nullptr ? 1 : split->split_lengths.size();
}

absl::Status TooMany(size_t k) {
  return FieldError(absl::StrCat("ops[", k, "]"),
                    absl::StrCat("must leave 1 to ", kMaxOutputs, " tensors"));
}

// Every op, applied to every tensor that the one before it makes.
absl::StatusOr<Graph> Unroll(const std::vector<Op>& ops,
                             std::vector<std::string>& steps) {
  Graph graph;
  std::vector<size_t> tensors{0};
  size_t made = 1;
  for (size_t k = 0; k < ops.size(); ++k) {
    std::vector<size_t> next;
    for (const size_t tensor : tensors) {
      graph.steps.push_back({tensor, ops[k]});
      steps.push_back(PipelineOpName(ops[k], k));
      // What they would be many times over must not be counted one by one.
      const size_t outputs = OutputsOf(ops[k]);
      if (next.size() + outputs > size_t{kMaxOutputs}) return TooMany(k);
      for (size_t i = 0; i < outputs; ++i) next.push_back(made++);
    }
    if (next.empty()) return TooMany(k);
    tensors = std::move(next);
  }
  graph.results = std::move(tensors);
  return graph;
}

}  // namespace

std::vector<std::string> OutputNames(size_t count) {
  if (count == 1) return {"output"};
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i)
    names.push_back(absl::StrCat("output_", i));
  return names;
}

absl::Status CheckAhead(const Model& model, const Graph& graph) {
  std::vector<InputSpec> specs;
  bool knows_all = true;
  for (const ModelTensor& input : model.spec().inputs) {
    const std::string path = absl::StrCat("inputs.", input.name);
    Shape shape = input.shape.value_or(Shape());
    knows_all &= input.shape.has_value();
    for (int64_t& extent : shape) {
      if (extent < -1)
        return FieldError(path, absl::StrCat("extents must be -1 or more, one "
                                             "is ",
                                             extent));
      knows_all &= extent >= 0;
      extent = extent == -1 ? 1 : extent;  // the least that makes a difference
    }
    const pb::DataType type = input.type.value_or(pb::DATA_TYPE_U8);
    const auto size = SizeOf(type, shape);
    if (!size.ok()) return InField(path, size.status());
    specs.push_back(
        {shape, type == pb::DATA_TYPE_STRING ? kPlaceBits : BitsOf(type)});
  }
  if (!knows_all) return absl::OkStatus();
  for (const Constant& constant : model.constants())
    specs.push_back({constant.shape, BitsOf(constant.type)});
  return CompileProgram(specs, graph,
                        [&](size_t k) { return model.StepName(k); })
      .status();
}

absl::StatusOr<std::unique_ptr<Model>> LoadProgram(const std::string& path) {
  AXIS_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxFileBytes));
  AXIS_ASSIGN_OR_RETURN(const pb::Program program, Parse(text));
  if (program.ops_size() > kMaxOps)
    return FieldError("ops", absl::StrCat("must hold at most ", kMaxOps));
  AXIS_ASSIGN_OR_RETURN(const std::vector<Op> ops, DecodeOps(program));
  const auto input = ToTensor(program.input());
  if (!input.ok()) return InField("input", input.status());
  std::vector<std::string> steps;
  Binding binding;
  AXIS_ASSIGN_OR_RETURN(binding.graph, Unroll(ops, steps));
  binding.outputs = OutputNames(binding.graph.results.size());
  ModelSpec spec{.name = program.name(),
                 .source = "program",
                 .inputs = {*input},
                 .outputs = {}};
  for (const std::string& name : binding.outputs)
    spec.outputs.push_back({.name = name, .type = input->type});
  auto model = std::make_unique<FixedModel>(
      std::move(spec), binding, std::move(steps), std::vector<Constant>());
  AXIS_RETURN_IF_ERROR(CheckAhead(*model, binding.graph));
  return model;
}

}  // namespace axis
