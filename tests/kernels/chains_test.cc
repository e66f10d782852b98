// The claim of kernels/program.h that every chain comes out right: random ones
// against the oracle, element by element, at every width and in every layout.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "kernels/copy.h"
#include "kernels/program.h"
#include "tests/kernels/random_copy.h"
#include "tests/reference.h"

namespace axis {
namespace {

std::string OpName(size_t k) { return "ops[" + std::to_string(k) + "]"; }

using Bytes = std::vector<std::byte>;

// Element i of a test tensor: bits that tell it from others at any width.
uint64_t BitsOfItem(int64_t value, int part) {
  uint64_t x = static_cast<uint64_t>(value) * 2 + static_cast<uint64_t>(part);
  x = (x ^ x >> 31) * 0x9E3779B97F4A7C15;
  return x ^ x >> 29;
}

// What a buffer has to hold: `array` with its channels in blocks of `b`.
Bytes Pack(const reference::Array& array, int64_t bits, int64_t b,
           std::byte padding) {
  if (bits < 8) {
    Bytes bytes(static_cast<size_t>(
        PackedBytes(static_cast<int64_t>(array.items.size()), bits)));
    for (size_t i = 0; i < array.items.size(); ++i)
      testing::NarrowElement(bits, static_cast<int64_t>(i))
          .Put(bytes.data(),
               static_cast<unsigned>(BitsOfItem(array.items[i], 0) &
                                     ((1u << bits) - 1)));
    return bytes;
  }
  const size_t width = static_cast<size_t>(bits / 8);
  const size_t items =
      b == 1 ? array.items.size()
             : static_cast<size_t>(reference::StoredItems(array.shape, b));
  Bytes bytes(items * width, padding);
  size_t i = 0;
  reference::ForEach(array.shape, [&](const std::vector<int64_t>& index) {
    const size_t at =
        b == 1
            ? i
            : static_cast<size_t>(reference::StoredAt(array.shape, index, b));
    for (size_t part = 0; part * 8 < width; ++part) {
      const uint64_t x = BitsOfItem(array.items[i], static_cast<int>(part));
      std::memcpy(&bytes[at * width + part * 8], &x,
                  std::min<size_t>(width, 8));
    }
    ++i;
  });
  return bytes;
}

constexpr std::byte kJunk{0xA5};  // nobody may read or keep it

// Runs `program` as the server does, on inputs in blocks of `b` channels.
std::vector<Bytes> RunProgram(const Program& program,
                              const std::vector<reference::Array>& inputs,
                              const std::vector<InputSpec>& specs) {
  std::vector<Bytes> buffers;
  for (int64_t n : program.buffer_bytes)
    buffers.emplace_back(static_cast<size_t>(n), kJunk);
  for (size_t i = 0; i < inputs.size(); ++i)
    buffers[i] =
        Pack(inputs[i], specs[i].item_bits, specs[i].layout.block, kJunk);
  for (const Program::Pass& pass : program.passes) {
    const Bytes& src = buffers[static_cast<size_t>(pass.src)];
    std::vector<Target> targets;
    for (const Program::Write& write : pass.writes) {
      Bytes& dst = buffers[static_cast<size_t>(write.buffer)];
      Zero(write.zeros, dst.data());
      if (IsSlice(write.plan, static_cast<int64_t>(dst.size()))) {
        const int64_t begin = write.plan.src_offset / 8;
        dst.assign(src.begin() + begin,
                   src.begin() + begin + static_cast<int64_t>(dst.size()));
      } else {
        targets.push_back({&write.plan, dst.data()});
      }
    }
    const std::span<const std::byte> from = src;
    EXPECT_EQ(Copy({&from, 1}, targets), 0);
    // Nobody may need a dead buffer.
    for (int b : pass.dead)
      for (std::byte& x : buffers[static_cast<size_t>(b)]) x = std::byte{0xEE};
  }
  std::vector<Bytes> out;
  for (const Program::Output& output : program.outputs)
    out.push_back(buffers[static_cast<size_t>(output.buffer)]);
  return out;
}

class Random {
 public:
  explicit Random(uint64_t seed) : rng_(seed) {}
  int64_t Pick(int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(rng_);
  }
  std::vector<int64_t> PickShape() {
    std::vector<int64_t> shape(static_cast<size_t>(Pick(0, 5)));
    for (int64_t& e : shape) e = Pick(0, 20) == 0 ? Pick(0, 1) : Pick(1, 6);
    // Now and then enough channels for several blocks, or enough of all for
    // several workers.
    if (shape.size() > 1 && Pick(0, 3) == 0) shape[1] = Pick(1, 48);
    if (shape.size() == 3 && Pick(0, 400) == 0) shape = {2, 40, Pick(1, 9999)};
    return shape;
  }
  // An op for a tensor of `shape`; with `one` it makes one output.
  Op PickOp(const std::vector<int64_t>& shape, bool one) {
    const int64_t rank = static_cast<int64_t>(shape.size());
    if (rank == 0) return Transpose{};
    const int64_t axis = Pick(0, rank - 1);
    const int64_t extent = shape[static_cast<size_t>(axis)];
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= std::max<int64_t>(extent, 1); ++d)
      if (extent % d == 0) divisors.push_back(d);
    const int64_t divisor = divisors[static_cast<size_t>(
        Pick(0, static_cast<int64_t>(divisors.size()) - 1))];
    switch (Pick(0, one ? 2 : 3)) {
      case 0: {
        Transpose op;
        for (int64_t i = 0; i < rank; ++i) op.order.push_back(i);
        std::shuffle(op.order.begin(), op.order.end(), rng_);
        if (Pick(0, 4) == 0) op.order.clear();
        return op;
      }
      case 1:
        return ShuffleChannels{axis - (Pick(0, 1) ? rank : 0), divisor};
      case 2:
        return Shuffle{axis, divisor, Pick(0, 1) == 1};
      default: {
        const int64_t a = Pick(0, extent), b = Pick(0, extent - a);
        return VariadicSplit{axis, {a, Pick(0, 1) ? extent - a - b : -1, b}};
      }
    }
  }

 private:
  std::mt19937_64 rng_;
};

TEST(Program, RandomChainsAgreeWithTheOracle) {
  const char* chains_env = std::getenv("AXIS_CHAINS");
  const char* seed_env = std::getenv("AXIS_SEED");
  const int chains = chains_env != nullptr ? std::atoi(chains_env) : 100000;
  const uint64_t seed =
      seed_env != nullptr ? std::strtoull(seed_env, nullptr, 10) : 20261121;
  std::printf("chains: %d, seed: %llu (AXIS_CHAINS, AXIS_SEED)\n", chains,
              static_cast<unsigned long long>(seed));
  Random random(seed);
  int64_t passes = 0, outputs = 0, stored = 0, narrow = 0;
  for (int trial = 0; trial < chains; ++trial) {
    std::vector<reference::Array> inputs, expected;
    std::vector<InputSpec> specs;
    constexpr int64_t kBits[] = {8, 16, 32, 64, 128, 1, 2, 3, 4, 6};
    for (int64_t n = random.Pick(1, 2); n > 0; --n) {
      inputs.push_back(reference::Iota(random.PickShape()));
      const auto& shape = inputs.back().shape;
      specs.push_back({{shape.begin(), shape.end()}, kBits[random.Pick(0, 9)]});
      constexpr int64_t kBlocks[] = {1, 0, 4, 8, 16, 3};
      if (shape.size() >= 2 && specs.back().item_bits >= 8)
        specs.back().layout.block = kBlocks[random.Pick(0, 5)];
      stored += specs.back().layout != kRowMajor;
      narrow += specs.back().item_bits < 8;
    }
    expected = inputs;
    std::vector<Op> ops;
    for (int64_t n = random.Pick(0, 4); n > 0; --n) {
      const Op op = random.PickOp(expected[0].shape, expected.size() > 6);
      bool allowed = true;
      for (const auto& e : expected) allowed &= Validate(op, e.shape).ok();
      if (!allowed) continue;
      ops.push_back(op);
      std::vector<reference::Array> next;
      for (const auto& e : expected)
        for (auto& o : reference::Apply(op, e)) next.push_back(std::move(o));
      expected = std::move(next);
    }
    const auto program = CompileProgram(specs, ops, OpName);
    ASSERT_TRUE(program.ok()) << program.status() << " in chain " << trial;
    passes += static_cast<int64_t>(program->passes.size());
    outputs += static_cast<int64_t>(program->outputs.size());
    const std::vector<Bytes> got = RunProgram(*program, inputs, specs);
    ASSERT_EQ(got.size(), expected.size()) << "chain " << trial;
    for (size_t i = 0; i < got.size(); ++i) {
      const Shape& shape = program->outputs[i].shape;
      ASSERT_EQ(std::vector<int64_t>(shape.begin(), shape.end()),
                expected[i].shape)
          << "chain " << trial;
      const InputSpec& spec =
          specs[static_cast<size_t>(program->outputs[i].input)];
      ASSERT_EQ(got[i], Pack(expected[i], spec.item_bits, spec.layout.block,
                             std::byte{0}))
          << "chain " << trial << ", blocks of " << spec.layout.block << ", "
          << spec.item_bits << " bits";
    }
  }
  std::printf(
      "summary: %d random chains agree with the oracle: %lld outputs "
      "in %lld passes; inputs of less than a byte %lld, in layouts other "
      "than row-major %lld\n",
      chains, static_cast<long long>(outputs), static_cast<long long>(passes),
      static_cast<long long>(narrow), static_cast<long long>(stored));
}

}  // namespace
}  // namespace axis
