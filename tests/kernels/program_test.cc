// Claims of kernels/program.h: random chains of ops against the oracle, element
// by element, at every width and in every layout; how many passes a chain
// takes; what it says of a chain that is wrong.
#include "kernels/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "kernels/copy.h"
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

absl::StatusOr<Program> Compile(std::vector<int64_t> shape, std::vector<Op> ops,
                                Layout layout = kRowMajor) {
  const InputSpec spec{{shape.begin(), shape.end()}, 32, layout};
  return CompileProgram({&spec, 1}, ops, OpName);
}

TEST(Program, AChainOfViewsIsOnePassAndOneWrite) {
  const Program program = *Compile(
      {8, 6, 14, 14}, {Transpose{{0, 2, 3, 1}}, ShuffleChannels{3, 3},
                       Transpose{{0, 3, 2, 1}}, ShuffleChannels{1, 2}});
  EXPECT_EQ(program.passes.size(), 1u);
  EXPECT_EQ(program.passes[0].writes.size(), 1u);
}

TEST(Program, ASplitReadsItsSourceInOnePass) {
  const Program program = *Compile({4, 9}, {VariadicSplit{1, {2, 3, -1}}});
  ASSERT_EQ(program.passes.size(), 1u);
  EXPECT_EQ(program.passes[0].writes.size(), 3u);
}

TEST(Program, WhatCancelsOutIsASlice) {
  const Program program =
      *Compile({2, 12}, {Shuffle{1, 3}, Shuffle{1, 3, true}});
  EXPECT_TRUE(IsSlice(program.passes[0].writes[0].plan, 2 * 12 * 4));
  EXPECT_EQ(program.peak_bytes, 0);
}

TEST(Program, AChainThatIsNoViewIsCutAndFreesItsTemporary) {
  // 12 = 3 x 4 shuffled cannot be split at 2: one temporary, then the output.
  const Program program =
      *Compile({12}, {ShuffleChannels{0, 4}, ShuffleChannels{0, 2}});
  ASSERT_EQ(program.passes.size(), 2u);
  EXPECT_EQ(program.buffer_bytes.size(), 3u);
  EXPECT_EQ(program.passes[1].dead, (absl::InlinedVector<int, 1>{1}));
  EXPECT_EQ(program.peak_bytes, 2 * 12 * 4);
}

TEST(Program, PeakCountsWhatLivesAtATime) {
  // Each cut frees what the one before made: never more than two at a time.
  std::vector<Op> ops;
  for (int i = 0; i < 10; ++i) {
    ops.push_back(ShuffleChannels{0, 4});
    ops.push_back(ShuffleChannels{0, 2});
  }
  const Program program = *Compile({12}, ops);
  EXPECT_GT(program.passes.size(), 4u);
  EXPECT_EQ(program.peak_bytes, 2 * 12 * 4);
}

TEST(Program, AChainOnChannelsLastOrOnFullBlocksIsOneCopy) {
  const std::vector<Op> chain = {Transpose{{0, 1, 3, 2}}, ShuffleChannels{1, 4},
                                 Shuffle{2, 7}};
  for (const int64_t block : {1, 0, 4, 8, 16}) {
    const Program program = *Compile({2, 64, 14, 14}, chain, {block});
    EXPECT_EQ(program.passes.size(), 1u) << block;
    EXPECT_EQ(program.buffer_bytes.size(), 2u) << block;
  }
}

TEST(Program, BlocksThatDoNotNestTakeTwoPasses) {
  for (const int64_t block : {4, 8, 16})
    EXPECT_EQ(Compile({2, 30, 7, 7}, {Shuffle{1, 5}}, {block})->passes.size(),
              2u)
        << block;
}

TEST(Program, AnOutputInBlocksIsPaddedAndCountsItsPadding) {
  const Program program =
      *Compile({1, 16, 3, 5}, {Transpose{{0, 2, 1, 3}}}, {16});
  EXPECT_EQ(program.buffer_bytes[1], 16 * 16 * 5 * 4);
  EXPECT_EQ(program.peak_bytes, 16 * 16 * 5 * 4);
  EXPECT_EQ(program.passes[0].writes[0].zeros.bytes, 16 * 16 * 5 * 4);
  EXPECT_EQ(program.passes[0].writes[0].zeros.count, 1);
  EXPECT_EQ(Compile({1, 16, 3}, {}, {16})->passes[0].writes[0].zeros.count, 0);
}

TEST(Program, WhatHasPaddingIsNoSlice) {
  auto is_slice = [](std::vector<int64_t> shape) {
    const Program program = *Compile(shape, {}, {4});
    bool all = true;
    for (const Program::Write& write : program.passes.back().writes)
      all &= IsSlice(write.plan,
                     program.buffer_bytes[static_cast<size_t>(write.buffer)]);
    return all;
  };
  EXPECT_TRUE(is_slice({2, 8, 3}));
  EXPECT_FALSE(is_slice({2, 3, 3}));
  // One run of its 4 full channels, but not the whole of it.
  EXPECT_FALSE(is_slice({1, 5, 1}));
}

TEST(Program, TwoPartsFillOneBufferThatCountsOnce) {
  const Program program = *Compile({1, 24, 5}, {Shuffle{2, 1}}, {16});
  ASSERT_EQ(program.passes.size(), 2u);
  EXPECT_EQ(program.passes[0].writes.size(), 2u);
  EXPECT_EQ(program.passes[0].writes[0].zeros.count, 0);
  ASSERT_EQ(program.passes[1].writes.size(), 2u);
  EXPECT_EQ(program.passes[1].writes[0].zeros.offset, 16 * 20);
  EXPECT_EQ(program.passes[1].writes[0].zeros.bytes, 16 * 20);
  EXPECT_EQ(program.passes[1].writes[1].zeros.count, 0);
  EXPECT_EQ(program.buffer_bytes,
            (std::vector<int64_t>{32 * 20, 24 * 20, 32 * 20}));
  EXPECT_EQ(program.peak_bytes, 24 * 20 + 32 * 20);
}

TEST(Program, TheMostMemoryMayBeHeldBeforeTheLastPass) {
  const InputSpec specs[] = {{{12}, 8}, {{3}, 8}};
  const Op ops[] = {ShuffleChannels{0, 3}, ShuffleChannels{0, 3}};
  const auto program = CompileProgram(specs, ops, OpName);
  ASSERT_TRUE(program.ok());
  ASSERT_EQ(program->passes.size(), 3u);
  EXPECT_EQ(program->peak_bytes, 2 * 12);  // of the first input alone
}

TEST(Program, WhatNoMachineHoldsIsRefused) {
  EXPECT_EQ(Compile({int64_t{1} << 53, 16, 1}, {Transpose{{0, 2, 1}}}, {16})
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Compile({0, 1 << 30, 1 << 30}, {Transpose{}}, {16}).ok());
}

TEST(Program, NamesTheGuiltyField) {
  EXPECT_EQ(FieldOf(Compile({2, 3}, {Transpose{}, Transpose{{0, 5}}}).status()),
            "ops[1].order[1]");
}

TEST(Program, BoundsTheOutputs) {
  VariadicSplit split{0, {}};
  split.split_lengths.assign(size_t{kMaxOutputs}, 1);
  EXPECT_TRUE(Compile({kMaxOutputs}, {split}).ok());
  EXPECT_EQ(FieldOf(Compile({kMaxOutputs, 2}, {split, VariadicSplit{1, {1, 1}}})
                        .status()),
            "ops[1].split_lengths");
}

}  // namespace
}  // namespace axis
