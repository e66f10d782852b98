#include "tests/bench/peers/engine.h"

#include <memory>
#include <stdexcept>

#include "kernels/copy.h"

namespace axis::bench {
namespace {

// A pass, told where its buffers are.
struct Step {
  struct Zeros {
    Program::Runs runs;
    std::byte* buffer;
  };
  std::vector<Zeros> zeros;
  std::vector<std::span<const std::byte>> src;
  std::vector<Target> targets;
};

// A program ready to run. What lies between passes is memory of a pool, as it
// is in the server.
struct Ready {
  Program program;
  std::shared_ptr<BufferPool> pool;
  std::vector<PooledBuffer> temporaries;
  std::vector<Step> steps;  // their targets point into the program
};

// Where the buffers of the program are: the source comes first, the outputs
// lie as the pieces of `c` do.
std::vector<std::byte*> Place(const Case& c, Buffers buffers, Ready& ready) {
  const Program& program = ready.program;
  std::vector<std::byte*> at(program.buffer_bytes.size());
  at[0] = const_cast<std::byte*>(buffers.src);
  for (size_t k = 0; k < c.pieces.size(); ++k)
    at[static_cast<size_t>(program.outputs[k].buffer)] =
        buffers.dst + c.pieces[k].dst_offset;
  for (size_t i = 0; i < at.size(); ++i)
    if (at[i] == nullptr) {
      ready.temporaries.push_back(ready.pool->Get(program.buffer_bytes[i]));
      at[i] = ready.temporaries.back().get();
    }
  return at;
}

std::vector<std::span<const std::byte>> PiecesOf(
    std::span<const std::byte> bytes, size_t piece_bytes) {
  std::vector<std::span<const std::byte>> pieces;
  size_t size = piece_bytes == 0 ? bytes.size() : piece_bytes / 2 - 11;
  while (bytes.size() > size) {
    pieces.push_back(bytes.first(size));
    bytes = bytes.subspan(size);
    size = piece_bytes;
  }
  pieces.push_back(bytes);
  return pieces;
}

}  // namespace

Op OpOf(const Case& c) {
  const auto axis = static_cast<int64_t>(c.axis);
  if (c.op == "Transpose") return Transpose{{c.perm.begin(), c.perm.end()}};
  if (c.op == "ShuffleChannels") return ShuffleChannels{axis, c.group};
  if (c.op == "Shuffle") return Shuffle{axis, c.shape[c.axis] / c.group};
  return VariadicSplit{axis, {c.lengths.begin(), c.lengths.end()}};
}

Program ProgramOf(const Case& c) {
  const InputSpec input{
      Shape(c.shape.begin(), c.shape.end()), c.item_bits, {c.block}};
  const Op op = OpOf(c);
  auto program =
      CompileProgram({&input, 1}, {&op, 1}, [](size_t) { return "op"; });
  if (!program.ok()) throw std::runtime_error(program.status().ToString());
  return *std::move(program);
}

Peer EnginePeer(const Case& c, Buffers buffers, size_t piece_bytes) {
  auto ready = std::make_shared<Ready>();
  ready->program = ProgramOf(c);
  // As in the server: what was used is used again. A block is larger than what
  // it is for.
  ready->pool = std::make_shared<BufferPool>(2 * c.src_bytes + (4 << 20));
  const std::vector<std::byte*> at = Place(c, buffers, *ready);
  for (const Program::Pass& pass : ready->program.passes) {
    const auto src = static_cast<size_t>(pass.src);
    Step& step = ready->steps.emplace_back();
    step.src = PiecesOf(
        {at[src], static_cast<size_t>(ready->program.buffer_bytes[src])},
        src == 0 ? piece_bytes : 0);
    for (const Program::Write& write : pass.writes) {
      std::byte* const dst = at[static_cast<size_t>(write.buffer)];
      step.targets.push_back({&write.plan, dst});
      if (write.zeros.count > 0) step.zeros.push_back({write.zeros, dst});
    }
  }
  // Nothing should come between the clock and what most programs are.
  if (ready->steps.size() == 1 && ready->steps[0].zeros.empty())
    return {"engine", [step = ready->steps[0], owner = std::move(ready)] {
              Copy(step.src, step.targets, owner->pool.get());
            }};
  return {"engine", [ready = std::move(ready)] {
            for (const Step& step : ready->steps) {
              for (const auto& [runs, buffer] : step.zeros) Zero(runs, buffer);
              Copy(step.src, step.targets, ready->pool.get());
            }
          }};
}

}  // namespace axis::bench
