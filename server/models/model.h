// Models: what the Open Inference Protocol calls whatever makes output tensors
// of input tensors. Here they are ops, chains of ops, and graphs of ops.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "axis/v1/tensor.pb.h"
#include "kernels/program.h"
#include "server/call/light.h"
#include "server/models/index_tensor.h"
#include "server/models/parameters.h"
#include "server/wire/payload.h"

namespace axis {

namespace pb = ::axis::v1;

// An input or an output of a model.
struct ModelTensor {
  std::string name;
  std::optional<pb::DataType> type = {};  // nullopt: any
  std::optional<Shape> shape = {};        // -1: any extent; nullopt: any shape
  bool is_index = false;                  // numbers that the op needs, not data
  bool is_optional = false;
};

struct ModelSpec {
  std::string name;
  std::string source;  // where it comes from, for people
  std::vector<ModelTensor> inputs;
  // Where the request decides how many there are, the first.
  std::vector<ModelTensor> outputs;
};

// What a request gives to a model; a list has an entry for each input.
struct ModelArgs {
  std::vector<std::optional<Shape>> shapes;         // of data; nullopt: absent
  std::vector<std::optional<IndexTensor>> indices;  // of index inputs
  const Parameters& parameters;
};

// What a model does with a request.
struct Binding {
  // Its inputs are the data inputs that are there, then the constants.
  Graph graph;
  std::vector<std::string> outputs;  // the names of graph.results
};

// A tensor that a model brings along.
struct Constant {
  pb::DataType type;
  Shape shape;
  Payload data;  // exactly the bytes that type and shape call for
};

// What became of the requests of a model. Thread-safe.
struct ModelStats {
  struct Duration {
    std::atomic<uint64_t> count{0}, ns{0};
  };
  Duration success, fail, input, infer, output;
  std::atomic<uint64_t> last_ms{0};  // since 1970
};

// Immutable but for its statistics; thread-safe.
class Model {
 public:
  explicit Model(ModelSpec spec) : spec_(std::move(spec)) {}
  virtual ~Model() = default;

  const ModelSpec& spec() const { return spec_; }
  const std::vector<Constant>& constants() const { return constants_; }
  ModelStats& stats() const { return stats_; }

  // How the data lies, as `parameters` say.
  // Errors: "parameters.layout"
  virtual absl::StatusOr<pb::Layout> LayoutOf(const Parameters&) const {
    return pb::LAYOUT_UNSPECIFIED;
  }

  // Whether `name` is a parameter of this model.
  virtual bool Takes(absl::string_view) const { return false; }

  // What to do with `args`, whose inputs are there unless they are optional.
  // Errors: "parameters.<name>", "inputs.<name>"
  virtual absl::StatusOr<Binding> Bind(const ModelArgs& args) const = 0;

  // What a request takes, of which `rest` is all but its raw data. What that
  // does not tell is taken for the worst.
  virtual Work WorkOf(const oip::ModelInferRequest& rest) const = 0;

  // What graph.steps[k] is called in the path of an error.
  virtual std::string StepName(size_t k) const = 0;

 protected:
  std::vector<Constant> constants_;

 private:
  const ModelSpec spec_;
  mutable ModelStats stats_;
};

// A model that does the same with every request: a program or a graph.
class FixedModel final : public Model {
 public:
  // `steps` names the steps of the graph.
  FixedModel(ModelSpec spec, Binding binding, std::vector<std::string> steps,
             std::vector<Constant> constants)
      : Model(std::move(spec)),
        binding_(std::move(binding)),
        steps_(std::move(steps)) {
    constants_ = std::move(constants);
  }

  absl::StatusOr<Binding> Bind(const ModelArgs&) const override {
    return binding_;
  }
  Work WorkOf(const oip::ModelInferRequest&) const override {
    const auto ops = static_cast<int64_t>(binding_.graph.steps.size());
    Work work{.ops = std::max(int64_t{1}, ops)};
    work.tensors = ops + static_cast<int64_t>(binding_.graph.results.size());
    for (const Constant& constant : constants_)
      work.constant_bytes += constant.data.size();
    return work;
  }
  std::string StepName(size_t k) const override { return steps_[k]; }

 private:
  const Binding binding_;
  const std::vector<std::string> steps_;
};

}  // namespace axis
