#include "kernels/program.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace axis {
namespace {

// A tensor under compilation: a view of a buffer that is already written.
struct Pending {
  int input;
  int buffer;
  View view;
  int64_t item_bits;
};

// Adds to the program the write that lays `tensor` out densely; returns its
// buffer. Writes that read the same buffer one after the other share a pass.
int Materialize(const Pending& tensor, Program& program) {
  const int buffer = static_cast<int>(program.buffer_bytes.size());
  program.buffer_bytes.push_back(
      PackedBytes(SizeOf(tensor.view), tensor.item_bits));
  if (program.passes.empty() || program.passes.back().src != tensor.buffer)
    program.passes.emplace_back().src = tensor.buffer;
  Program::Write& write = program.passes.back().writes.emplace_back();
  write.buffer = buffer;
  write.plan = CompilePlan(tensor.view, tensor.item_bits);
  return buffer;
}

// Finds out when each buffer dies, and how much memory lives at the worst.
void Account(size_t inputs, Program& program) {
  std::vector<size_t> last_read(program.buffer_bytes.size());
  // The buffer whose memory each one shares; itself unless it is a slice.
  std::vector<size_t> owner(program.buffer_bytes.size());
  std::vector<size_t> owner_death(program.buffer_bytes.size());
  for (size_t b = 0; b < inputs; ++b) owner[b] = b;
  for (size_t p = 0; p < program.passes.size(); ++p) {
    const size_t src = static_cast<size_t>(program.passes[p].src);
    last_read[src] = owner_death[owner[src]] = p;
    for (const Program::Write& write : program.passes[p].writes) {
      const size_t b = static_cast<size_t>(write.buffer);
      owner[b] = IsSlice(write.plan) ? owner[src] : b;
    }
  }
  std::vector<bool> kept(program.buffer_bytes.size());
  for (const Program::Output& output : program.outputs)
    kept[static_cast<size_t>(output.buffer)] = true;
  for (size_t b = 0; b < owner.size(); ++b)
    if (kept[b]) owner_death[owner[b]] = program.passes.size();
  int64_t live = 0;
  for (size_t p = 0; p < program.passes.size(); ++p) {
    Program::Pass& pass = program.passes[p];
    for (const Program::Write& write : pass.writes)
      if (!IsSlice(write.plan))
        live += program.buffer_bytes[static_cast<size_t>(write.buffer)];
    program.peak_bytes = std::max(program.peak_bytes, live);
    const size_t src = static_cast<size_t>(pass.src);
    if (last_read[src] == p && !kept[src]) pass.dead.push_back(pass.src);
    if (owner[src] >= inputs && owner_death[owner[src]] == p)
      live -= program.buffer_bytes[owner[src]];
  }
}

}  // namespace

absl::StatusOr<Program> CompileProgram(
    std::span<const InputSpec> inputs, std::span<const Op> ops,
    const std::function<std::string(size_t)>& name) {
  Program program;
  std::vector<Pending> tensors;
  for (const InputSpec& input : inputs) {
    View view = Dense(input.shape);
    const int buffer = static_cast<int>(program.buffer_bytes.size());
    program.buffer_bytes.push_back(PackedBytes(SizeOf(view), input.item_bits));
    tensors.push_back({buffer, buffer, std::move(view), input.item_bits});
  }
  for (size_t k = 0; k < ops.size(); ++k) {
    std::vector<Pending> next;
    for (Pending& tensor : tensors) {
      const Shape shape = ShapeOf(tensor.view);
      AXIS_RETURN_IF_ERROR(InField(name(k), Validate(ops[k], shape)));
      std::optional<Views> views = Apply(ops[k], tensor.view);
      if (!views) {
        tensor.buffer = Materialize(tensor, program);
        tensor.view = Dense(shape);
        views = Apply(ops[k], tensor.view);
      }
      if (next.size() + views->size() > kMaxOutputs)
        // Only a split makes tensors more.
        return FieldError(
            absl::StrCat(name(k), ".split_lengths"),
            absl::StrCat("must make at most ", kMaxOutputs, " tensors in all"));
      for (View& view : *views)
        next.push_back(
            {tensor.input, tensor.buffer, std::move(view), tensor.item_bits});
    }
    tensors = std::move(next);
  }
  for (const Pending& tensor : tensors)
    program.outputs.push_back(
        {tensor.input, Materialize(tensor, program), ShapeOf(tensor.view)});
  Account(inputs.size(), program);
  return program;
}

}  // namespace axis
