#include "server/models/builtin.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "kernels/status.h"

namespace axis {
namespace {

// An op as a model: one step, on the one data input that is there.
class OpModel final : public Model {
 public:
  // An op and the names of its outputs.
  struct Bound {
    Op op;
    std::vector<std::string> outputs;
  };
  using BindOp = absl::StatusOr<Bound> (*)(const ModelArgs&);
  // How many outputs a request asks for, of which `rest` may be all that is
  // known.
  using CountOutputs = int64_t (*)(const oip::ModelInferRequest& rest);

  OpModel(ModelSpec spec, std::vector<std::string> parameters, std::string step,
          BindOp bind, CountOutputs count)
      : Model(std::move(spec)),
        parameters_(std::move(parameters)),
        step_(std::move(step)),
        bind_(bind),
        count_(count) {}

  absl::StatusOr<pb::Layout> LayoutOf(
      const Parameters& parameters) const override;

  bool Takes(absl::string_view name) const override {
    return std::find(parameters_.begin(), parameters_.end(), name) !=
           parameters_.end();
  }

  absl::StatusOr<Binding> Bind(const ModelArgs& args) const override {
    AXIS_ASSIGN_OR_RETURN(Bound bound, bind_(args));
    Binding binding;
    binding.graph.steps.push_back({0, std::move(bound.op)});
    for (size_t i = 0; i < bound.outputs.size(); ++i)
      binding.graph.results.push_back(1 + i);
    binding.outputs = std::move(bound.outputs);
    return binding;
  }

  Work WorkOf(const oip::ModelInferRequest& rest) const override {
    return {.tensors = count_(rest)};
  }

  std::string StepName(size_t) const override { return step_; }

 private:
  const std::vector<std::string> parameters_;
  const std::string step_;
  const BindOp bind_;
  const CountOutputs count_;
};

struct LayoutName {
  absl::string_view name;
  pb::Layout layout;
};
constexpr LayoutName kLayouts[] = {{"ncx", pb::LAYOUT_NCX},
                                   {"nxc", pb::LAYOUT_NXC},
                                   {"ncx4c", pb::LAYOUT_NCX4C},
                                   {"ncx8c", pb::LAYOUT_NCX8C},
                                   {"ncx16c", pb::LAYOUT_NCX16C}};

absl::StatusOr<pb::Layout> OpModel::LayoutOf(
    const Parameters& parameters) const {
  if (!Takes("layout")) return pb::LAYOUT_UNSPECIFIED;
  AXIS_ASSIGN_OR_RETURN(const auto layout,
                        StringParameter(parameters, "layout"));
  AXIS_ASSIGN_OR_RETURN(const auto dst_layout,
                        StringParameter(parameters, "dst_layout"));
  if (dst_layout && *dst_layout != layout.value_or("ncx"))
    return absl::UnimplementedError(
        "parameters.dst_layout: outputs have the layout of their input");
  if (!layout) return pb::LAYOUT_UNSPECIFIED;
  for (const LayoutName& known : kLayouts)
    if (known.name == *layout) return known.layout;
  // Double blocks are spelled with two upper-case axes: "BA8b4a2b".
  if (std::count_if(layout->begin(), layout->end(), absl::ascii_isupper) > 1)
    return absl::UnimplementedError(absl::StrCat(
        "parameters.layout: no layout of two blocked axes is served: ",
        *layout));
  return FieldError("parameters.layout",
                    absl::StrCat("must be ncx, nxc, ncx4c, ncx8c or ncx16c, "
                                 "is ",
                                 *layout));
}

// The number of an index input that is a scalar, or of shape [1].
absl::StatusOr<int64_t> Scalar(const IndexTensor& tensor,
                               absl::string_view field) {
  if (tensor.shape.empty() ||
      (tensor.shape.size() == 1 && tensor.shape[0] == 1))
    return tensor.values[0];
  return FieldError(field, "must be a scalar or have shape [1]");
}

absl::StatusOr<absl::InlinedVector<int64_t, 8>> List(const IndexTensor& tensor,
                                                     absl::string_view field) {
  if (tensor.shape.size() == 1)
    return absl::InlinedVector<int64_t, 8>(tensor.values.begin(),
                                           tensor.values.end());
  return FieldError(
      field, absl::StrCat("must have rank 1, has rank ", tensor.shape.size()));
}

absl::StatusOr<int64_t> IntOr(const ModelArgs& args, const char* name,
                              int64_t otherwise) {
  AXIS_ASSIGN_OR_RETURN(const auto value, IntParameter(args.parameters, name));
  return value.value_or(otherwise);
}

absl::StatusOr<int64_t> RequiredInt(const ModelArgs& args, const char* name) {
  AXIS_ASSIGN_OR_RETURN(const auto value, IntParameter(args.parameters, name));
  if (!value)
    return FieldError(absl::StrCat("parameters.", name), "must be set");
  return *value;
}

std::vector<std::string> Numbered(size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i)
    names.push_back(absl::StrCat("output_", i));
  return names;
}

absl::StatusOr<OpModel::Bound> BindTranspose(const ModelArgs& args) {
  AXIS_ASSIGN_OR_RETURN(auto order,
                        List(*args.indices[1], "inputs.input_order"));
  return OpModel::Bound{Transpose{std::move(order)}, {"output"}};
}

absl::StatusOr<OpModel::Bound> BindShuffleChannels(const ModelArgs& args) {
  AXIS_ASSIGN_OR_RETURN(const int64_t axis, IntOr(args, "axis", 1));
  AXIS_ASSIGN_OR_RETURN(const int64_t group, IntOr(args, "group", 1));
  return OpModel::Bound{ShuffleChannels{axis, group}, {"output"}};
}

absl::StatusOr<OpModel::Bound> BindVariadicSplit(const ModelArgs& args) {
  AXIS_ASSIGN_OR_RETURN(const int64_t axis,
                        Scalar(*args.indices[1], "inputs.axis"));
  AXIS_ASSIGN_OR_RETURN(auto lengths,
                        List(*args.indices[2], "inputs.split_lengths"));
  auto names = Numbered(lengths.size());
  return OpModel::Bound{VariadicSplit{axis, std::move(lengths)},
                        std::move(names)};
}

int64_t CountLengths(const oip::ModelInferRequest& rest) {
  for (const auto& input : rest.inputs())
    if (input.name() == "split_lengths" && input.shape_size() == 1)
      return input.shape(0);
  return kMaxOutputs;
}

absl::StatusOr<OpModel::Bound> BindSplit(const ModelArgs& args) {
  AXIS_ASSIGN_OR_RETURN(const int64_t axis,
                        Scalar(*args.indices[1], "inputs.axis"));
  AXIS_ASSIGN_OR_RETURN(const int64_t count, RequiredInt(args, "num_splits"));
  const Op op = EqualSplit{axis, count};
  const absl::Status status = Validate(op, *args.shapes[0]);
  if (!status.ok())
    return InField(FieldOf(status) == "axis" ? "inputs" : "parameters", status);
  return OpModel::Bound{op, Numbered(static_cast<size_t>(count))};
}

int64_t CountSplits(const oip::ModelInferRequest& rest) {
  const auto count = IntParameter(rest.parameters(), "num_splits");
  return count.ok() ? count->value_or(kMaxOutputs) : kMaxOutputs;
}

int64_t CountOne(const oip::ModelInferRequest&) { return 1; }

absl::StatusOr<OpModel::Bound> BindShuffle(const ModelArgs& args) {
  AXIS_ASSIGN_OR_RETURN(const int64_t axis, IntOr(args, "axis", 1));
  AXIS_ASSIGN_OR_RETURN(const int64_t size, RequiredInt(args, "group_size"));
  AXIS_ASSIGN_OR_RETURN(const auto given,
                        StringParameter(args.parameters, "prop_kind"));
  const std::string kind = given.value_or("forward_inference");
  const bool backward = kind == "backward";
  if (!backward && kind != "forward_inference" && kind != "forward_training")
    return FieldError("parameters.prop_kind",
                      absl::StrCat("must be forward_training, "
                                   "forward_inference or backward, is ",
                                   kind));
  if (!args.shapes[backward ? 1 : 0] || args.shapes[backward ? 0 : 1])
    return FieldError("inputs",
                      absl::StrCat("must hold ", backward ? "diff_dst" : "src",
                                   " alone for prop_kind ", kind));
  return OpModel::Bound{Shuffle{axis, size, backward},
                        {backward ? "diff_src" : "dst"}};
}

}  // namespace

std::vector<std::unique_ptr<Model>> BuiltinModels() {
  const ModelTensor data{.name = "data"};
  const ModelTensor axis{.name = "axis", .shape = Shape{1}, .is_index = true};
  const ModelTensor pieces{.name = "output_0"};
  std::vector<std::unique_ptr<Model>> models;
  auto add = [&](ModelSpec spec, std::vector<std::string> parameters,
                 const char* step, OpModel::BindOp bind,
                 OpModel::CountOutputs count = CountOne) {
    spec.source = "built in";
    models.push_back(std::make_unique<OpModel>(
        std::move(spec), std::move(parameters), step, bind, count));
  };
  add({.name = "Transpose",
       .source = {},
       .inputs = {{.name = "arg"},
                  {.name = "input_order",
                   .shape = Shape{-1},
                   .is_index = true}},
       .outputs = {{.name = "output"}}},
      {}, "inputs.input_order", BindTranspose);
  add({.name = "ShuffleChannels",
       .source = {},
       .inputs = {data},
       .outputs = {{.name = "output"}}},
      {"axis", "group"}, "parameters", BindShuffleChannels);
  add({.name = "VariadicSplit",
       .source = {},
       .inputs = {data,
                  axis,
                  {.name = "split_lengths",
                   .shape = Shape{-1},
                   .is_index = true}},
       .outputs = {pieces}},
      {}, "inputs", BindVariadicSplit, CountLengths);
  add({.name = "Split",
       .source = {},
       .inputs = {data, axis},
       .outputs = {pieces}},
      {"num_splits"}, "inputs", BindSplit, CountSplits);
  add({.name = "Shuffle",
       .source = {},
       .inputs = {{.name = "src", .is_optional = true},
                  {.name = "diff_dst", .is_optional = true}},
       .outputs = {{.name = "dst"}}},
      {"axis", "group_size", "prop_kind", "layout", "dst_layout"}, "parameters",
      BindShuffle);
  return models;
}

}  // namespace axis
