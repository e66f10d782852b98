// Claims of kernels/program.h for graphs: random ones against the oracle, where
// tensors are read by many steps, by none, and come out twice.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/copy.h"
#include "kernels/program.h"
#include "tests/random_chain.h"
#include "tests/reference.h"

namespace axis {
namespace {

using testing::Random;

std::string StepName(size_t k) { return "steps[" + std::to_string(k) + "]"; }

// Runs `program` on inputs whose elements are 64 bits wide.
std::vector<std::vector<int64_t>> RunProgram(
    const Program& program, const std::vector<reference::Array>& inputs) {
  std::vector<std::vector<int64_t>> buffers;
  for (const int64_t bytes : program.buffer_bytes)
    buffers.emplace_back(static_cast<size_t>(bytes / 8), -1);
  for (size_t i = 0; i < inputs.size(); ++i)
    buffers[i].assign(inputs[i].items.begin(), inputs[i].items.end());
  for (const Program::Pass& pass : program.passes) {
    std::vector<Target> targets;
    for (const Program::Write& write : pass.writes)
      targets.push_back(
          {&write.plan,
           reinterpret_cast<std::byte*>(
               buffers[static_cast<size_t>(write.buffer)].data())});
    const auto& src = buffers[static_cast<size_t>(pass.src)];
    const auto from = std::as_bytes(std::span(src));
    Copy({&from, 1}, targets);
    // Nobody may need a dead buffer.
    for (const int b : pass.dead) {
      auto& dead = buffers[static_cast<size_t>(b)];
      std::fill(dead.begin(), dead.end(), -2);
    }
  }
  std::vector<std::vector<int64_t>> out;
  for (const Program::Output& output : program.outputs)
    out.push_back(buffers[static_cast<size_t>(output.buffer)]);
  return out;
}

TEST(GraphTest, RandomGraphsMatchTheOracle) {
  Random random(20240301);
  for (int round = 0; round < 3000 && !HasFailure(); ++round) {
    std::vector<reference::Array> tensors;
    std::vector<InputSpec> specs;
    for (int64_t i = random.In(1, 3); i > 0; --i) {
      reference::Array array;
      for (int64_t rank = random.In(1, 4); rank > 0; --rank)
        array.shape.push_back(random.In(round % 20 == 0 ? 0 : 1, 6));
      const int64_t size =
          std::accumulate(array.shape.begin(), array.shape.end(), int64_t{1},
                          std::multiplies<>());
      array.items.resize(static_cast<size_t>(size));
      std::iota(array.items.begin(), array.items.end(), 1000 * i);
      specs.push_back({Shape(array.shape.begin(), array.shape.end()), 64});
      tensors.push_back(std::move(array));
    }
    const std::vector<reference::Array> inputs = tensors;
    Graph graph;
    for (int64_t k = random.In(0, 12); k > 0; --k) {
      const size_t from = static_cast<size_t>(
          random.In(0, static_cast<int64_t>(tensors.size()) - 1));
      const reference::Array read = tensors[from];
      const bool is_empty = read.items.empty();
      const Op op =
          is_empty ? Op(Transpose{})
                   : testing::RandomOp(
                         random, Shape(read.shape.begin(), read.shape.end()));
      if (!Validate(op, read.shape).ok()) continue;
      graph.steps.push_back({from, op});
      for (reference::Array& made : reference::Apply(op, read))
        tensors.push_back(std::move(made));
    }
    for (int64_t k = random.In(0, 5); k > 0; --k)
      graph.results.push_back(static_cast<size_t>(
          random.In(0, static_cast<int64_t>(tensors.size()) - 1)));
    const auto program = CompileProgram(specs, graph, StepName);
    ASSERT_TRUE(program.ok()) << program.status();
    ASSERT_EQ(program->outputs.size(), graph.results.size());
    const auto outputs = RunProgram(*program, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const reference::Array& wanted = tensors[graph.results[i]];
      const Shape& shape = program->outputs[i].shape;
      EXPECT_EQ(std::vector<int64_t>(shape.begin(), shape.end()), wanted.shape);
      EXPECT_EQ(outputs[i],
                std::vector<int64_t>(wanted.items.begin(), wanted.items.end()))
          << "round " << round << ", result " << i;
    }
  }
}

TEST(GraphTest, NamesTheGuiltyStep) {
  Graph graph;
  graph.steps = {{0, Transpose{}}, {1, Transpose{{0, 5}}}};
  graph.results = {2};
  const InputSpec spec{{2, 3}, 8};
  EXPECT_EQ(FieldOf(CompileProgram({&spec, 1}, graph, StepName).status()),
            "steps[1].order[1]");
}

TEST(GraphTest, WhatNobodyWantsIsNotWritten) {
  Graph graph;
  graph.steps = {{0, EqualSplit{1, 3}}, {1, Transpose{}}};
  graph.results = {2};
  const InputSpec spec{{4, 6}, 8};
  const auto program = CompileProgram({&spec, 1}, graph, StepName);
  ASSERT_TRUE(program.ok());
  ASSERT_EQ(program->passes.size(), 1u);
  EXPECT_EQ(program->passes[0].writes.size(), 1u);
}

}  // namespace
}  // namespace axis
