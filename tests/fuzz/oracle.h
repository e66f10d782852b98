// Runs programs on memory of exactly the right size, and says what must come
// out according to tests/reference.h.
#pragma once

#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "kernels/copy.h"
#include "kernels/program.h"
#include "tests/fuzz/choices.h"
#include "tests/kernels/random_copy.h"
#include "tests/reference.h"

namespace axis::fuzz {

// On the heap and no larger than it must be, so that ASan guards its ends.
using Memory = std::vector<std::byte>;

// What the oracle can do in time.
inline constexpr int64_t kMaxElements = 2048;
inline constexpr size_t kMaxTensors = 48;

inline int64_t Elements(std::span<const int64_t> shape) {
  for (const int64_t extent : shape)
    if (extent == 0) return 0;
  int64_t n = 1;
  for (const int64_t extent : shape)
    if (__builtin_mul_overflow(n, extent, &n)) return INT64_MAX;
  return n;
}

// Bytes that are like no other ones, padding included.
inline Memory Junk(int64_t bytes) {
  Memory out(static_cast<size_t>(bytes));
  uint32_t state = 0x9E3779B9u;
  for (std::byte& byte : out) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return out;
}

// Where each element of a tensor lies in its buffer, in row-major order.
inline std::vector<int64_t> Places(const std::vector<int64_t>& shape,
                                   Layout layout) {
  std::vector<int64_t> places;
  reference::ForEach(shape, [&](const std::vector<int64_t>& index) {
    places.push_back(layout == kRowMajor
                         ? static_cast<int64_t>(places.size())
                         : reference::StoredAt(shape, index, layout.block));
  });
  return places;
}

// The buffer of a tensor made of the elements `tensor` numbers of `source`.
inline Memory Expected(const InputSpec& spec, const Memory& source,
                       const reference::Array& tensor) {
  const std::vector<int64_t> from =
      Places({spec.shape.begin(), spec.shape.end()}, spec.layout);
  const std::vector<int64_t> to = Places(tensor.shape, spec.layout);
  const int64_t bits = spec.item_bits;
  const int64_t items =
      spec.layout == kRowMajor
          ? static_cast<int64_t>(to.size())
          : reference::StoredItems(tensor.shape, spec.layout.block);
  const int64_t unit = bits % 8 == 0 ? bits : bits % 3 == 0 ? 24 : 8;
  Memory out(static_cast<size_t>((items * bits + unit - 1) / unit * unit / 8));
  for (size_t i = 0; i < to.size(); ++i) {
    const int64_t at = from[static_cast<size_t>(tensor.items[i])];
    if (bits % 8 == 0) {
      const size_t width = static_cast<size_t>(bits / 8);
      std::memcpy(out.data() + static_cast<size_t>(to[i]) * width,
                  source.data() + static_cast<size_t>(at) * width, width);
    } else {
      using testing::NarrowElement;
      NarrowElement(bits, to[i])
          .Put(out.data(), NarrowElement(bits, at).Get(source.data()));
    }
  }
  return out;
}

// The buffers of `program` after it has run; those that are dead are empty.
inline std::vector<Memory> Run(const Program& program,
                               std::vector<Memory> buffers, Choices& choices) {
  buffers.resize(program.buffer_bytes.size());
  for (const Program::Pass& pass : program.passes) {
    std::vector<Target> targets;
    int last = -1;
    for (const Program::Write& write : pass.writes) {
      const size_t b = static_cast<size_t>(write.buffer);
      if (write.buffer != last) {
        buffers[b].assign(static_cast<size_t>(program.buffer_bytes[b]),
                          std::byte{0xA5});
        Zero(write.zeros, buffers[b].data());
      }
      last = write.buffer;
      targets.push_back({&write.plan, buffers[b].data()});
    }
    // Each piece is an allocation of its own, as slices are.
    const Memory& src = buffers[static_cast<size_t>(pass.src)];
    std::vector<Memory> pieces;
    size_t begin = 0;
    for (const size_t end : choices.Ends(src.size())) {
      pieces.emplace_back(src.begin() + static_cast<ptrdiff_t>(begin),
                          src.begin() + static_cast<ptrdiff_t>(end));
      begin = end;
    }
    const std::vector<std::span<const std::byte>> spans(pieces.begin(),
                                                        pieces.end());
    Copy(spans, targets);
    for (const int dead : pass.dead) Memory().swap(buffers[size_t(dead)]);
  }
  return buffers;
}

// Checks what `program` makes of `inputs` against `graph`, element by element.
// Does nothing where that would take too long.
inline void CheckProgram(const Program& program,
                         const std::vector<InputSpec>& specs,
                         std::vector<Memory> inputs, const Graph& graph,
                         Choices& choices) {
  std::vector<std::pair<size_t, reference::Array>> tensors;
  for (size_t i = 0; i < specs.size(); ++i) {
    const Shape& shape = specs[i].shape;
    if (Elements(shape) > kMaxElements || inputs[i].size() > (1u << 18)) return;
    tensors.emplace_back(i, reference::Iota({shape.begin(), shape.end()}));
  }
  for (const Graph::Step& step : graph.steps) {
    const auto in = tensors[step.tensor];
    for (reference::Array& out : reference::Apply(step.op, in.second))
      tensors.emplace_back(in.first, std::move(out));
    if (tensors.size() > kMaxTensors * 8) return;
  }
  // Blocks may be larger than what is in them.
  for (const int64_t bytes : program.buffer_bytes)
    if (bytes > (1 << 18)) return;
  const std::vector<Memory> sources = inputs;
  const std::vector<Memory> buffers = Run(program, std::move(inputs), choices);
  FUZZ_CHECK(program.outputs.size() == graph.results.size());
  for (size_t k = 0; k < program.outputs.size(); ++k) {
    const Program::Output& output = program.outputs[k];
    const auto& [input, tensor] = tensors[graph.results[k]];
    FUZZ_CHECK(static_cast<size_t>(output.input) == input);
    FUZZ_CHECK(output.shape == Shape(tensor.shape.begin(), tensor.shape.end()));
    FUZZ_CHECK(buffers[static_cast<size_t>(output.buffer)] ==
               Expected(specs[input], sources[input], tensor));
  }
}

}  // namespace axis::fuzz
