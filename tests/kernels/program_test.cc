// Claims of kernels/program.h: how many passes a chain takes, what it holds,
// and what it says of a chain that is wrong.
#include "kernels/program.h"

#include <gtest/gtest.h>

#include <string>

#include "kernels/plan.h"

namespace axis {
namespace {

std::string OpName(size_t k) { return "ops[" + std::to_string(k) + "]"; }

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

TEST(Program, BlocksThatDoNotNestTakeOnePassAndOneWrite) {
  for (const int64_t block : {4, 8, 16}) {
    const Program program = *Compile(
        {2, 30, 7, 7}, {Shuffle{1, 5}, Transpose{{0, 1, 3, 2}}}, {block});
    ASSERT_EQ(program.passes.size(), 1u) << block;
    ASSERT_EQ(program.passes[0].writes.size(), 1u) << block;
    const Program::Write& write = program.passes[0].writes[0];
    EXPECT_EQ(write.plan.places.size(), 30u);
    EXPECT_EQ(BitsOf(write.plan), 2 * 30 * 49 * 32);
    EXPECT_EQ(write.zeros.bytes, block * 49 * 4);
    EXPECT_EQ(write.zeros.count, 2);
    EXPECT_EQ(program.peak_bytes, 2 * 32 * 49 * 4);
  }
}

TEST(Program, WhatTakesEveryChannelToItsPlaceIsNoSlice) {
  // As few channels as elements of a run: one position, and no padding.
  const Program program = *Compile({1, 12}, {ShuffleChannels{1, 3}}, {4});
  ASSERT_EQ(program.passes.size(), 1u);
  const Plan& plan = program.passes[0].writes[0].plan;
  EXPECT_EQ(plan.places.size(), 12u);
  EXPECT_FALSE(IsSlice(plan, 4));
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
  // More channels than are taken to their places one by one.
  const Program program = *Compile({1, 1048, 5}, {Shuffle{2, 1}}, {16});
  ASSERT_EQ(program.passes.size(), 2u);
  EXPECT_EQ(program.passes[0].writes.size(), 2u);
  EXPECT_EQ(program.passes[0].writes[0].zeros.count, 0);
  ASSERT_EQ(program.passes[1].writes.size(), 2u);
  EXPECT_EQ(program.passes[1].writes[0].zeros.offset, 1040 * 20);
  EXPECT_EQ(program.passes[1].writes[0].zeros.bytes, 16 * 20);
  EXPECT_EQ(program.passes[1].writes[1].zeros.count, 0);
  EXPECT_EQ(program.buffer_bytes,
            (std::vector<int64_t>{1056 * 20, 1048 * 20, 1056 * 20}));
  EXPECT_EQ(program.peak_bytes, 1048 * 20 + 1056 * 20);
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

TEST(Program, AsksForNamesOfWhatIsWrongAlone) {
  const InputSpec spec{{8, 6}, 32};
  std::vector<size_t> asked;
  const auto name = [&](size_t k) {
    asked.push_back(k);
    return OpName(k);
  };
  std::vector<Op> ops = {VariadicSplit{0, {4, 4}}, Transpose{}};
  EXPECT_TRUE(CompileProgram({&spec, 1}, ops, name).ok());
  EXPECT_TRUE(asked.empty());
  ops.push_back(Transpose{{0, 2}});
  EXPECT_FALSE(CompileProgram({&spec, 1}, ops, name).ok());
  EXPECT_EQ(asked, std::vector<size_t>{2});
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
