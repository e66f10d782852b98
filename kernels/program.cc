#include "kernels/program.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace axis {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 60;  // of 2^63 bits

absl::Status TooLarge() {
  return absl::ResourceExhaustedError(
      "what the ops make takes 2^60 bytes or more, beyond every limit of this "
      "server");
}

// A tensor under compilation: a view of a buffer that is already written.
struct Pending {
  int input;
  int buffer;
  View view;
};

// A tensor, or its parts one after the other along the channels.
using Parts = absl::InlinedVector<View, 2>;

// Cuts `view` into parts of the shapes of `like`; nullopt if they are no views.
std::optional<Parts> Cut(const View& view, const Parts& like) {
  if (like.size() == 1) return Parts{view};
  Parts parts;
  int64_t begin = 0;
  for (const View& part : like) {
    const int64_t extent = ShapeOf(part)[1];
    std::optional<View> piece = Slice(view, 1, begin, extent);
    if (!piece) return std::nullopt;
    parts.push_back(*std::move(piece));
    begin += extent;
  }
  return parts;
}

// Adds to the program the writes of `plans`, which make a new buffer of `bytes`
// from one other; returns it. Its end are `last` and what padding there is.
// Writes that read the same buffer one after the other share a pass.
int Write(int from, absl::InlinedVector<Plan, 2> plans, const View& last,
          int64_t bytes, int64_t item_bits, Program& program) {
  int64_t written = 0;
  for (const Plan& plan : plans) written += BitsOf(plan) / item_bits;
  const int buffer = static_cast<int>(program.buffer_bytes.size());
  program.buffer_bytes.push_back(bytes);
  if (program.passes.empty() || program.passes.back().src != from)
    program.passes.emplace_back().src = from;
  auto& writes = program.passes.back().writes;
  const size_t first = writes.size();
  for (Plan& plan : plans) writes.push_back({buffer, std::move(plan), {}});
  if (PackedBytes(written, item_bits) < bytes) {
    // The last block of channels, for each of the batch, has padding.
    const int64_t count = ShapeOf(last)[0], stride = bytes / count;
    const int64_t offset = last.offset * item_bits / 8;
    writes[first].zeros = {offset, stride - offset, stride, count};
  }
  return buffer;
}

// The same for what lays out `src` as `dst`; nullopt if they do not nest.
std::optional<int> Write(int from, const Parts& src, const Parts& dst,
                         int64_t bytes, int64_t item_bits, Program& program) {
  absl::InlinedVector<Plan, 2> plans;
  for (size_t i = 0; i < src.size(); ++i) {
    std::optional<Plan> plan = CompilePlan(src[i], dst[i], item_bits);
    if (!plan) return std::nullopt;
    plans.push_back(*std::move(plan));
  }
  return Write(from, std::move(plans), dst.back(), bytes, item_bits, program);
}

// Lays `tensor` out densely.
void Densify(int64_t item_bits, Pending& tensor, Program& program) {
  View dense = Dense(ShapeOf(tensor.view));
  const int64_t bytes = PackedBytes(SizeOf(tensor.view), item_bits);
  tensor.buffer =
      *Write(tensor.buffer, {tensor.view}, {dense}, bytes, item_bits, program);
  tensor.view = std::move(dense);
}

// The tensor of input `i`, which starts as it is stored, if that is one view.
Pending Read(const InputSpec& spec, int i, Program& program) {
  Parts stored = Stored(spec.shape, spec.layout);
  if (stored.size() == 1) return {i, i, std::move(stored[0])};
  View dense = Dense(spec.shape);
  const int64_t bytes = PackedBytes(SizeOf(dense), spec.item_bits);
  const int buffer =
      *Write(i, stored, *Cut(dense, stored), bytes, spec.item_bits, program);
  return {i, buffer, std::move(dense)};
}

// Lays `tensor` out as its input was stored.
absl::Status Output(const InputSpec& spec, Pending tensor, Program& program) {
  const int64_t bits = spec.item_bits;
  const Shape shape = ShapeOf(tensor.view);
  // Without elements there is no padding either.
  const Layout layout = SizeOf(tensor.view) == 0 ? kRowMajor : spec.layout;
  const std::optional<int64_t> bytes = StoredBytes(shape, layout, bits);
  if (!bytes || *bytes >= kMaxBytes) return TooLarge();
  const Parts stored = Stored(shape, layout);
  auto write = [&]() -> std::optional<int> {
    const std::optional<Parts> parts = Cut(tensor.view, stored);
    if (!parts) return std::nullopt;
    return Write(tensor.buffer, *parts, stored, *bytes, bits, program);
  };
  std::optional<int> buffer = write();
  if (!buffer) {
    Densify(bits, tensor, program);
    buffer = write();
  }
  program.outputs.push_back({tensor.input, *buffer, shape});
  return absl::OkStatus();
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
      owner[b] = IsSlice(write.plan, program.buffer_bytes[b]) ? owner[src] : b;
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
    int last = -1;
    for (const Program::Write& write : pass.writes) {
      const size_t b = static_cast<size_t>(write.buffer);
      if (owner[b] == b && write.buffer != last)
        live += program.buffer_bytes[b];
      last = write.buffer;
    }
    program.peak_bytes = std::max(program.peak_bytes, live);
    const size_t src = static_cast<size_t>(pass.src);
    if (last_read[src] == p && !kept[src]) pass.dead.push_back(pass.src);
    if (owner[src] >= inputs && owner_death[owner[src]] == p)
      live -= program.buffer_bytes[owner[src]];
  }
}

// The tensors that a program begins with.
absl::Status Begin(std::span<const InputSpec> inputs,
                   std::vector<Pending>& tensors, Program& program) {
  for (const InputSpec& input : inputs) {
    program.buffer_bytes.push_back(
        *StoredBytes(input.shape, input.layout, input.item_bits));
    if (program.buffer_bytes.back() >= kMaxBytes) return TooLarge();
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    tensors.push_back(Read(inputs[i], static_cast<int>(i), program));
  return absl::OkStatus();
}

// Applies `op`, the k-th, to `tensor` and adds what it produces to `made`; lays
// `tensor` out densely before if it must. Names would take longer than ops.
absl::Status Do(const Op& op, size_t k, const StepName& name,
                std::span<const InputSpec> inputs, Pending& tensor,
                std::vector<Pending>& made, Program& program) {
  if (absl::Status status = Validate(op, ShapeOf(tensor.view)); !status.ok())
    return InField(name(k), std::move(status));
  std::optional<Views> views = Apply(op, tensor.view);
  if (!views) {
    Densify(inputs[static_cast<size_t>(tensor.input)].item_bits, tensor,
            program);
    views = Apply(op, tensor.view);
  }
  if (made.size() + views->size() > size_t{kMaxOutputs})
    // Only a split makes tensors more.
    return FieldError(
        absl::StrCat(name(k), ".split_lengths"),
        absl::StrCat("must make at most ", kMaxOutputs, " tensors in all"));
  for (View& view : *views)
    made.push_back({tensor.input, tensor.buffer, std::move(view)});
  return absl::OkStatus();
}

// Writes the `results` of a program.
absl::Status End(std::span<const InputSpec> inputs,
                 std::vector<Pending> results, Program& program) {
  for (Pending& tensor : results) {
    const InputSpec& spec = inputs[static_cast<size_t>(tensor.input)];
    AXIS_RETURN_IF_ERROR(Output(spec, std::move(tensor), program));
  }
  int64_t left = kMaxBytes;
  for (const int64_t bytes : program.buffer_bytes)
    if ((left -= bytes) <= 0) return TooLarge();
  Account(inputs.size(), program);
  return absl::OkStatus();
}

// Where blocks of channels do not nest: a program that takes every channel of
// `input` to its place. nullopt if that cannot be, or if they are too many.
// REQUIRES: `ops` are allowed on what they meet.
std::optional<Program> CompileByChannel(const InputSpec& input,
                                        std::span<const Op> ops) {
  const auto& [shape, bits, layout] = input;
  Program program;
  program.buffer_bytes = {*StoredBytes(shape, layout, bits)};
  if (layout.block <= 1 || program.buffer_bytes[0] >= kFarApart)
    return std::nullopt;
  Views views = {FarApart(shape, layout)};
  for (const Op& op : ops) {
    Views next;
    for (const View& view : views) {
      std::optional<Views> made = Apply(op, view);
      if (!made) return std::nullopt;
      next.insert(next.end(), made->begin(), made->end());
    }
    views = std::move(next);
  }
  int64_t channels = 0;
  for (const View& view : views) {
    const Shape made = ShapeOf(view);
    if (SizeOf(view) == 0 || (channels += made[1]) > 1024) return std::nullopt;
    const Parts stored = Stored(made, layout);
    Parts src, dst;
    for (const View& part : stored)
      for (int64_t k = 0; k < ShapeOf(part)[1]; ++k) {
        const auto index = static_cast<int64_t>(src.size());
        auto channel = OneChannel(view, index, shape, layout);
        if (!channel) return std::nullopt;
        src.push_back(*std::move(channel));
        dst.push_back(*Slice(part, 1, k, 1));
      }
    std::optional<Plan> plan = CompilePlan(src, dst, bits);
    if (!plan) return std::nullopt;
    const int buffer = Write(0, {*std::move(plan)}, stored.back(),
                             *StoredBytes(made, layout, bits), bits, program);
    program.outputs.push_back({0, buffer, made});
  }
  Account(1, program);
  return program;
}

}  // namespace

absl::StatusOr<Program> CompileProgram(std::span<const InputSpec> inputs,
                                       std::span<const Op> ops,
                                       const StepName& name) {
  Program program;
  std::vector<Pending> tensors;
  AXIS_RETURN_IF_ERROR(Begin(inputs, tensors, program));
  for (size_t k = 0; k < ops.size(); ++k) {
    std::vector<Pending> next;
    for (Pending& tensor : tensors)
      AXIS_RETURN_IF_ERROR(Do(ops[k], k, name, inputs, tensor, next, program));
    tensors = std::move(next);
  }
  AXIS_RETURN_IF_ERROR(End(inputs, std::move(tensors), program));
  if (inputs.size() == 1 && program.passes.size() > 1)
    if (auto less = CompileByChannel(inputs[0], ops)) return *std::move(less);
  return program;
}

absl::StatusOr<Program> CompileProgram(std::span<const InputSpec> inputs,
                                       const Graph& graph,
                                       const StepName& name) {
  Program program;
  std::vector<Pending> tensors;
  AXIS_RETURN_IF_ERROR(Begin(inputs, tensors, program));
  for (size_t k = 0; k < graph.steps.size(); ++k) {
    std::vector<Pending> made;
    AXIS_RETURN_IF_ERROR(Do(graph.steps[k].op, k, name, inputs,
                            tensors[graph.steps[k].tensor], made, program));
    for (Pending& tensor : made) tensors.push_back(std::move(tensor));
  }
  std::vector<Pending> results;
  for (const size_t tensor : graph.results) results.push_back(tensors[tensor]);
  AXIS_RETURN_IF_ERROR(End(inputs, std::move(results), program));
  return program;
}

void Zero(const Program::Runs& runs, std::byte* buffer) {
  for (int64_t i = 0; i < runs.count; ++i)
    std::memset(buffer + runs.offset + i * runs.stride, 0,
                static_cast<size_t>(runs.bytes));
}

}  // namespace axis
