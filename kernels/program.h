// Programs: a chain of ops, compiled to as few copies as it needs.
//
// The one door of kernels/: everything above calls CompileProgram() and Copy().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "kernels/ops.h"
#include "kernels/plan.h"
#include "kernels/status.h"

namespace axis {

// A sequence of passes between numbered buffers: the inputs first, then the
// temporaries and the outputs in the order they are written.
struct Program {
  // `count` runs of `bytes`, `stride` bytes apart, the first at `offset`.
  struct Runs {
    int64_t offset = 0, bytes = 0, stride = 0, count = 0;
  };
  // Two writes in a row fill one buffer where its layout makes it two views.
  struct Write {
    int buffer;
    Plan plan;
    Runs zeros;  // to be zero before: the blocks of a new buffer with padding
  };
  // Reads one buffer once and writes others from it. Afterwards nobody needs
  // the buffers of `dead` any more.
  struct Pass {
    int src;
    absl::InlinedVector<Write, 1> writes;
    absl::InlinedVector<int, 1> dead;
  };
  struct Output {
    int input;  // the input it came from
    int buffer;
    Shape shape;
  };

  std::vector<Pass> passes;  // each reads what earlier ones wrote
  std::vector<Output> outputs;
  std::vector<int64_t> buffer_bytes;  // of every buffer
  // The most memory that writes which are not slices hold at a time, beside
  // the inputs.
  int64_t peak_bytes = 0;
};

// What an input looks like; its bytes are not needed to compile.
struct InputSpec {
  Shape shape;  // every extent >= 0
  int64_t item_bits;
  Layout layout = kRowMajor;  // of what comes from it too
};

// What the k-th op is called in the path of an error. Asked for that alone.
using StepName = std::function<std::string(size_t k)>;

// Compiles `ops`, each applied to every tensor the one before it produced.
//
// Ops fuse into one copy as long as their composition is a view. Where it is
// not, the chain is cut: the tensor is laid out densely and the next op starts
// afresh. So it is where a layout makes the input two views, or where the
// blocks of the output do not nest with those of the result; but if channels
// then only change places, each is taken to its own in one pass. All errors of
// a request surface here; Copy() cannot fail.
//
// Errors: "<name(k)>.<attribute>"  ops[k] is not allowed on what it meets
//         "<name(k)>.split_lengths" it makes more than kMaxOutputs tensors
//         kResourceExhausted  the buffers take 2^60 bytes or more
// REQUIRES: StoredBytes() of every input has a value.
absl::StatusOr<Program> CompileProgram(std::span<const InputSpec> inputs,
                                       std::span<const Op> ops,
                                       const StepName& name);

// Ops that need not stand in a row. Tensors are numbered: the inputs come
// first, then what each step produces.
struct Graph {
  struct Step {
    size_t tensor;  // an input, or what an earlier step produces
    Op op;
  };
  std::vector<Step> steps;
  std::vector<size_t> results;  // the tensors that are outputs, in order
};

// Compiles `graph` in the same way; steps[k] is called name(k).
// Errors: as above; kMaxOutputs bounds what one step produces.
// REQUIRES: every tensor named is there; at most kMaxOutputs results.
absl::StatusOr<Program> CompileProgram(std::span<const InputSpec> inputs,
                                       const Graph& graph,
                                       const StepName& name);

// Zeroes `runs` of a buffer.
void Zero(const Program::Runs& runs, std::byte* buffer);

}  // namespace axis
