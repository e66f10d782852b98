// CompileProgram() and Copy() against the oracle: any shape, width and layout,
// any ops, pieces cut anywhere; and the arithmetic of shapes at its limits.
#include <optional>

#include "kernels/status.h"
#include "tests/fuzz/oracle.h"

namespace axis::fuzz {
namespace {

InputSpec AnySpec(Choices& choices) {
  static constexpr int64_t kBits[] = {1, 2, 3, 4, 6, 8, 16, 32, 64, 128};
  InputSpec spec{.shape = {}, .item_bits = kBits[choices.In(0, 9)]};
  for (int64_t rank = choices.In(0, 6); rank > 0; --rank)
    spec.shape.push_back(std::max<int64_t>(0, choices.Number()));
  if (spec.item_bits % 8 == 0 && spec.shape.size() >= 2) {
    static constexpr int64_t kBlocks[] = {1, 0, 4, 8, 16};
    spec.layout = Layout{kBlocks[choices.In(0, 4)]};
  }
  return spec;
}

Op AnyOp(Choices& choices, size_t rank) {
  const int64_t axis = choices.OneIn(16)
                           ? choices.Number()
                           : choices.In(-3, static_cast<int64_t>(rank));
  switch (choices.In(0, 4)) {
    case 0: {
      Transpose op;
      for (size_t i = 0; i < rank; ++i) op.order.push_back(int64_t(i));
      for (size_t i = rank; i > 1; --i)
        std::swap(op.order[i - 1],
                  op.order[size_t(choices.In(0, int64_t(i) - 1))]);
      if (choices.OneIn(8)) op.order.clear();
      if (choices.OneIn(16)) op.order.push_back(choices.Number());
      return op;
    }
    case 1:
      return ShuffleChannels{axis, choices.Number()};
    case 2:
      return Shuffle{axis, choices.Number(), choices.OneIn(2)};
    case 3: {
      VariadicSplit op{axis, {}};
      for (int64_t n = choices.In(0, 4); n > 0; --n)
        op.split_lengths.push_back(choices.Number());
      if (choices.OneIn(2)) op.split_lengths.push_back(-1);
      return op;
    }
    default:
      return EqualSplit{axis, choices.Number()};
  }
}

// What a chain of ops is as a graph, as far as shapes allow it.
std::optional<Graph> GraphOf(const std::vector<InputSpec>& specs,
                             const std::vector<Op>& ops) {
  Graph graph;
  std::vector<std::pair<size_t, Shape>> tensors;  // number, shape
  for (size_t i = 0; i < specs.size(); ++i)
    tensors.emplace_back(i, specs[i].shape);
  size_t made = specs.size();
  for (const Op& op : ops) {
    std::vector<std::pair<size_t, Shape>> next;
    for (const auto& [number, shape] : tensors) {
      if (!Validate(op, shape).ok()) return std::nullopt;
      graph.steps.push_back({number, op});
      const auto views = Apply(op, Dense(shape));
      FUZZ_CHECK(views.has_value());  // it is dense
      for (const View& view : *views) next.emplace_back(made++, ShapeOf(view));
      if (next.size() > kMaxTensors) return std::nullopt;
    }
    tensors = std::move(next);
  }
  for (const auto& [number, shape] : tensors) graph.results.push_back(number);
  return graph;
}

void Test(Choices& choices) {
  std::vector<InputSpec> specs;
  std::vector<Memory> inputs;
  for (int64_t n = choices.In(1, 2); n > 0; --n) {
    const InputSpec spec = AnySpec(choices);
    const auto bytes = StoredBytes(spec.shape, spec.layout, spec.item_bits);
    if (!bytes) return;
    FUZZ_CHECK(*bytes >= 0);
    specs.push_back(spec);
    inputs.push_back(*bytes <= (1 << 18) ? Junk(*bytes) : Memory(1 << 20));
  }
  std::vector<Op> ops;
  for (int64_t n = choices.In(0, 5); n > 0; --n)
    ops.push_back(AnyOp(choices, specs[0].shape.size()));
  const auto name = [](size_t) { return "op"; };
  const auto program = CompileProgram(specs, ops, name);
  if (!program.ok()) {
    FUZZ_CHECK(!FieldOf(program.status()).empty() ||
               absl::IsResourceExhausted(program.status()));
    return;
  }
  int64_t sum = 0;
  for (const int64_t bytes : program->buffer_bytes) {
    FUZZ_CHECK(bytes >= 0);
    sum += bytes;
  }
  FUZZ_CHECK(program->peak_bytes >= 0 && program->peak_bytes <= sum);
  const std::optional<Graph> graph = GraphOf(specs, ops);
  if (!graph) return;
  CheckProgram(*program, specs, inputs, *graph, choices);
  // The same ops one by one, with another tensor kept as a result.
  Graph kept = *graph;
  kept.results.push_back(0);
  const auto again = CompileProgram(specs, kept, name);
  FUZZ_CHECK(again.ok() || absl::IsResourceExhausted(again.status()));
  if (again.ok()) CheckProgram(*again, specs, inputs, kept, choices);
}

}  // namespace
}  // namespace axis::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  axis::fuzz::Choices choices(data, size);
  axis::fuzz::Test(choices);
  return 0;
}
