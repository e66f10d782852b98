#include "server/models/ir/ir_file.h"

#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/status.h"
#include "server/elements/types.h"
#include "server/models/file.h"
#include "server/models/ir/attributes.h"
#include "server/models/ir/xml.h"
#include "server/models/program_file.h"

namespace axis {
namespace {

constexpr int64_t kMaxXmlBytes = 2 << 20;
constexpr int64_t kMaxConstantBytes = 64 << 20;  // of all constants together

absl::Status Bad(absl::string_view why) {
  return absl::InvalidArgumentError(why);
}

// What an output port carries: a parameter, a constant, or what a step made.
struct Value {
  enum Kind { kParameter, kConstant, kStep } kind;
  size_t index;
  size_t output = 0;
};

// Understands the layers one after the other, each once its inputs are.
class Builder {
 public:
  Builder(const IrNet& net, std::string bin_path)
      : net_(net), bin_path_(std::move(bin_path)) {}

  absl::StatusOr<std::unique_ptr<Model>> Build(std::string name) {
    AXIS_RETURN_IF_ERROR(AddAll());
    if (results_.empty()) return Bad("has no Result");
    if (results_.size() > size_t{kMaxOutputs})
      return Bad(absl::StrCat("must have at most ", kMaxOutputs, " Results"));
    // Tensors are numbered: parameters, constants, what each step makes.
    std::vector<size_t> first;
    size_t next = spec_.inputs.size() + constants_.size();
    for (const Step& step : steps_) {
      first.push_back(next);
      next += step.outputs;
    }
    const auto number = [&](const Value& value) {
      if (value.kind == Value::kParameter) return value.index;
      if (value.kind == Value::kConstant)
        return spec_.inputs.size() + value.index;
      return first[value.index] + value.output;
    };
    Binding binding;
    std::vector<std::string> names;
    for (Step& step : steps_) {
      binding.graph.steps.push_back({number(step.data), std::move(step.op)});
      names.push_back(absl::StrCat("layers.", step.name));
    }
    std::set<std::string> taken;
    for (const auto& [place, result] : results_) {
      binding.graph.results.push_back(number(result.value));
      const bool is_new =
          !result.tensor.empty() && taken.insert(result.tensor).second;
      if (!is_new && !taken.insert(result.layer).second)
        return Bad(absl::StrCat("two outputs are called ", result.layer));
      binding.outputs.push_back(is_new ? result.tensor : result.layer);
      spec_.outputs.push_back({.name = binding.outputs.back()});
    }
    spec_.name = std::move(name);
    spec_.source = "OpenVINO IR";
    auto model = std::make_unique<FixedModel>(
        std::move(spec_), binding, std::move(names), std::move(constants_));
    AXIS_RETURN_IF_ERROR(CheckAhead(*model, binding.graph));
    return model;
  }

 private:
  struct Step {
    Value data;
    Op op;
    size_t outputs;
    std::string name;
  };
  struct Result {
    Value value;
    std::string tensor, layer;  // what it may be called
  };

  absl::Status AddAll() {
    std::map<std::string, std::vector<size_t>> readers;  // by layer
    std::vector<size_t> missing(net_.layers.size());     // edges still to come
    std::map<std::string, size_t> index;
    for (size_t i = 0; i < net_.layers.size(); ++i)
      index.emplace(net_.layers[i].id, i);
    for (const auto& [to, from] : net_.sources) {
      readers[from.first].push_back(index[to.first]);
      ++missing[index[to.first]];
    }
    std::deque<size_t> ready;
    for (size_t i = 0; i < missing.size(); ++i)
      if (missing[i] == 0) ready.push_back(i);
    size_t done = 0;
    for (; !ready.empty(); ++done) {
      const IrLayer& layer = net_.layers[ready.front()];
      ready.pop_front();
      if (const absl::Status status = Add(layer); !status.ok())
        return absl::Status(status.code(),
                            absl::StrCat("layer ", layer.name, " (", layer.type,
                                         "): ", FieldOf(status),
                                         FieldOf(status).empty() ? "" : ": ",
                                         status.message()));
      for (const size_t reader : readers[layer.id])
        if (--missing[reader] == 0) ready.push_back(reader);
    }
    if (done == net_.layers.size()) return absl::OkStatus();
    return Bad("its edges make a cycle");
  }

  absl::Status Add(const IrLayer& layer) {
    if (layer.type == "Parameter") return AddParameter(layer);
    if (layer.type == "Const") return AddConst(layer);
    if (layer.type == "Result") {
      AXIS_ASSIGN_OR_RETURN(const Value value, In(layer, 0));
      const auto source = net_.sources.find({layer.id, layer.inputs[0].id});
      const size_t place = static_cast<size_t>(&layer - net_.layers.data());
      results_.emplace(place,
                       Result{value, tensors_[source->second], layer.name});
      return absl::OkStatus();
    }
    if (layer.type == "Transpose") {
      AXIS_ASSIGN_OR_RETURN(auto order, List(layer, 1, "input_order"));
      return AddStep(layer, 2, Transpose{std::move(order)}, 1);
    }
    if (layer.type == "ShuffleChannels") {
      AXIS_ASSIGN_OR_RETURN(const int64_t axis, NumberOf(layer, "axis", 1));
      AXIS_ASSIGN_OR_RETURN(const int64_t group, NumberOf(layer, "group", 1));
      return AddStep(layer, 1, ShuffleChannels{axis, group}, 1);
    }
    if (layer.type == "VariadicSplit") {
      AXIS_ASSIGN_OR_RETURN(const int64_t axis, Axis(layer));
      AXIS_ASSIGN_OR_RETURN(auto lengths, List(layer, 2, "split_lengths"));
      const size_t count = lengths.size();
      return AddStep(layer, 3, VariadicSplit{axis, std::move(lengths)}, count);
    }
    if (layer.type == "Split") {
      AXIS_ASSIGN_OR_RETURN(const int64_t axis, Axis(layer));
      AXIS_ASSIGN_OR_RETURN(const int64_t count,
                            NumberOf(layer, "num_splits", {}));
      if (count < 1 || count > kMaxOutputs)
        return Bad(absl::StrCat("num_splits must lie in [1, ", kMaxOutputs,
                                "], is ", count));
      return AddStep(layer, 2, EqualSplit{axis, count},
                     static_cast<size_t>(count));
    }
    return Bad(
        "no such layer type is served, only Parameter, Const, Transpose, "
        "ShuffleChannels, VariadicSplit, Split and Result");
  }

  absl::Status AddParameter(const IrLayer& layer) {
    AXIS_ASSIGN_OR_RETURN(const auto type, TypeOf(layer));
    AXIS_ASSIGN_OR_RETURN(const auto shape, ShapeOf(layer));
    if (layer.outputs.size() != 1) return Bad("must have one output port");
    const std::string& tensor = layer.outputs[0].tensor;
    const std::string& name = tensor.empty() ? layer.name : tensor;
    for (const ModelTensor& other : spec_.inputs)
      if (other.name == name) return Bad("two inputs have that name");
    spec_.inputs.push_back({.name = name, .type = type, .shape = shape});
    return SetOutputs(layer, Value::kParameter, spec_.inputs.size() - 1, 1);
  }

  absl::Status AddConst(const IrLayer& layer) {
    AXIS_ASSIGN_OR_RETURN(const auto type, TypeOf(layer));
    AXIS_ASSIGN_OR_RETURN(const auto shape, ShapeOf(layer));
    AXIS_ASSIGN_OR_RETURN(const int64_t offset, NumberOf(layer, "offset", {}));
    AXIS_ASSIGN_OR_RETURN(const int64_t size, NumberOf(layer, "size", {}));
    if (!type || *type == pb::DATA_TYPE_STRING || !shape)
      return Bad("must have a type of fixed width and a shape");
    AXIS_ASSIGN_OR_RETURN(const TensorSize wanted, SizeOf(*type, *shape));
    if (offset < 0 || size != wanted.bytes)
      return Bad(absl::StrCat("size must be ", wanted.bytes,
                              " for its type and shape, is ", size));
    if (size > kMaxConstantBytes - constant_bytes_)
      return Bad(absl::StrCat("constants must take at most ", kMaxConstantBytes,
                              " bytes"));
    constant_bytes_ += size;
    Payload data;
    if (size > 0) {
      AXIS_ASSIGN_OR_RETURN(const File bin, File::Open(bin_path_));
      AXIS_ASSIGN_OR_RETURN(const std::string bytes, bin.Read(offset, size));
      data = Payload(grpc::Slice(bytes));
    }
    constants_.push_back({*type, *shape, std::move(data)});
    return SetOutputs(layer, Value::kConstant, constants_.size() - 1, 1);
  }

  absl::Status AddStep(const IrLayer& layer, size_t inputs, Op op,
                       size_t outputs) {
    if (layer.inputs.size() != inputs)
      return Bad(absl::StrCat("must have ", inputs, " input ports, has ",
                              layer.inputs.size()));
    AXIS_ASSIGN_OR_RETURN(const Value data, In(layer, 0));
    made_ += outputs;
    if (made_ > 16 * size_t{kMaxOutputs}) return Bad("makes too many tensors");
    steps_.push_back({data, std::move(op), outputs, layer.name});
    return SetOutputs(layer, Value::kStep, steps_.size() - 1, outputs);
  }

  absl::Status SetOutputs(const IrLayer& layer, Value::Kind kind, size_t index,
                          size_t count) {
    if (layer.outputs.size() != count)
      return Bad(absl::StrCat("must have ", count, " output ports, has ",
                              layer.outputs.size()));
    for (size_t i = 0; i < count; ++i) {
      const IrNet::PortId port{layer.id, layer.outputs[i].id};
      if (!values_.emplace(port, Value{kind, index, i}).second)
        return Bad(absl::StrCat("two output ports have id ", port.second));
      tensors_[port] = layer.outputs[i].tensor;
    }
    return absl::OkStatus();
  }

  // What input `i` of a layer reads.
  absl::StatusOr<Value> In(const IrLayer& layer, size_t i) const {
    if (i >= layer.inputs.size())
      return Bad(absl::StrCat("has no input port ", i));
    const auto source = net_.sources.find({layer.id, layer.inputs[i].id});
    if (source == net_.sources.end())
      return Bad(absl::StrCat("no edge leads to its input port ", i));
    const auto value = values_.find(source->second);
    if (value == values_.end())
      return Bad(absl::StrCat("its input port ", i,
                              " reads an output port that is not there"));
    return value->second;
  }

  absl::StatusOr<IndexTensor> Index(const IrLayer& layer, size_t i,
                                    const char* name) const {
    AXIS_ASSIGN_OR_RETURN(const Value value, In(layer, i));
    if (value.kind != Value::kConstant)
      return Bad(absl::StrCat(name, " must come from a Const"));
    const Constant& constant = constants_[value.index];
    return ReadIndex(constant.type, constant.shape, constant.data, name);
  }

  absl::StatusOr<int64_t> Axis(const IrLayer& layer) const {
    AXIS_ASSIGN_OR_RETURN(const IndexTensor index, Index(layer, 1, "axis"));
    if (index.shape.size() <= 1 && index.values.size() == 1)
      return index.values[0];
    return Bad("axis must be a scalar or have shape [1]");
  }

  absl::StatusOr<absl::InlinedVector<int64_t, 8>> List(const IrLayer& layer,
                                                       size_t i,
                                                       const char* name) const {
    AXIS_ASSIGN_OR_RETURN(const IndexTensor index, Index(layer, i, name));
    if (index.shape.size() != 1)
      return Bad(absl::StrCat(name, " must have rank 1"));
    return absl::InlinedVector<int64_t, 8>(index.values.begin(),
                                           index.values.end());
  }

  const IrNet& net_;
  const std::string bin_path_;
  ModelSpec spec_;
  std::vector<Constant> constants_;
  std::vector<Step> steps_;
  std::map<size_t, Result> results_;  // by the place of the layer
  std::map<IrNet::PortId, Value> values_;
  std::map<IrNet::PortId, std::string> tensors_;  // the names of ports
  int64_t constant_bytes_ = 0;
  size_t made_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> LoadIr(const std::string& path) {
  AXIS_ASSIGN_OR_RETURN(const std::string xml, ReadFile(path, kMaxXmlBytes));
  AXIS_ASSIGN_OR_RETURN(const IrNet net, ParseIr(xml));
  std::filesystem::path bin = path;
  bin.replace_extension(".bin");
  return Builder(net, bin.string())
      .Build(std::filesystem::path(path).stem().string());
}

}  // namespace axis
