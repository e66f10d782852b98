// Claims of kernels/copy.h about sources that lie in several pieces: the result
// is that of one piece wherever the cuts are, also where it is written past the
// caches, and where several workers take pieces at a time; large pieces are
// read in place; small ones are brought together once.
#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/copy.h"
#include "kernels/copy/machine.h"
#include "kernels/ops.h"
#include "tests/kernels/random_copy.h"
#include "tests/random_chain.h"

namespace axis {
namespace {

using Bytes = std::vector<std::byte>;
using Pieces = std::vector<std::span<const std::byte>>;

struct Case {
  Op op;
  std::vector<int64_t> shape;
};

struct Result {
  std::vector<Bytes> outputs;
  int64_t joined;
};

class PiecesTest : public ::testing::Test {
 protected:
  Bytes RandomBytes(int64_t size) {
    Bytes bytes(static_cast<size_t>(size));
    random_.Fill(bytes.data(), bytes.size());
    return bytes;
  }

  Bytes RandomTensor(std::span<const int64_t> shape, int64_t bits) {
    int64_t elements = 1;
    for (int64_t extent : shape) elements *= extent;
    return RandomBytes(PackedBytes(elements, bits));
  }

  // `bytes`, each piece in memory of its own so that reading past one shows.
  Pieces CutAt(const Bytes& bytes, std::vector<int64_t> cuts) {
    cuts.push_back(static_cast<int64_t>(bytes.size()));
    std::sort(cuts.begin(), cuts.end());
    memory_.clear();
    int64_t begin = 0;
    for (int64_t end : cuts) {
      memory_.push_back(
          std::make_unique<Bytes>(bytes.begin() + begin, bytes.begin() + end));
      begin = end;
    }
    Pieces pieces;
    for (const auto& m : memory_) pieces.emplace_back(*m);
    return pieces;
  }

  Result CopyAll(const Pieces& pieces, const std::vector<Plan>& plans) {
    Result result;
    std::vector<Target> targets;
    for (const Plan& plan : plans)
      result.outputs.emplace_back(static_cast<size_t>(
          PackedBytes(BitsOf(plan) / plan.item_bits, plan.item_bits)));
    for (size_t i = 0; i < plans.size(); ++i)
      targets.push_back({&plans[i], result.outputs[i].data()});
    arena_.execute([&] { result.joined = Copy(pieces, targets); });
    return result;
  }

  // Several workers, however many CPUs there are.
  static constexpr int kWorkers = 4;
  tbb::global_control allowed_{tbb::global_control::max_allowed_parallelism,
                               kWorkers};
  tbb::task_arena arena_{kWorkers};
  testing::Random random_{20261121};
  std::vector<std::unique_ptr<Bytes>> memory_;
};

// The plans of the outputs of `op` on a tensor of `shape`.
std::vector<Plan> PlansOf(const Op& op, const std::vector<int64_t>& shape,
                          int64_t bits) {
  std::vector<Plan> plans;
  const Views views = *Apply(op, Dense(shape));
  for (const View& view : views) plans.push_back(CompilePlan(view, bits));
  return plans;
}

TEST_F(PiecesTest, CutsAnywhereChangeNothing) {
  const Case cases[] = {
      {Transpose{{0, 3, 1, 2}}, {4, 64, 64, 24}},
      {Transpose{{0, 2, 3, 1}}, {4, 24, 64, 64}},
      {Transpose{{2, 1, 0}}, {60, 50, 130}},
      {Transpose{{1, 0}}, {640, 650}},
      {ShuffleChannels{1, 4}, {8, 64, 28, 28}},
      {Shuffle{3, 8}, {8, 28, 28, 64}},
      {VariadicSplit{2, {10, 1, 53}}, {64, 100, 64}},
      {VariadicSplit{1, {1, 1, 1}}, {200000, 3}},
      {VariadicSplit{1, {5, 11}}, {3, 16, 30000}},
      {VariadicSplit{0, {1, 1000000}}, {1000001}},
  };
  int in_place = 0;
  for (const Case& c : cases)
    for (const int64_t bits : {8, 16, 32, 64, 128, 4}) {
      const std::vector<Plan> plans = PlansOf(c.op, c.shape, bits);
      const Bytes src = RandomTensor(c.shape, bits);
      const int64_t size = static_cast<int64_t>(src.size());
      const Result expected = CopyAll({src}, plans);
      EXPECT_EQ(expected.joined, 0);
      for (int trial = 0; trial < 6; ++trial) {
        std::vector<int64_t> cuts;
        for (int64_t n =
                 random_.In(1, std::max<int64_t>(1, size / (160 << 10)));
             n > 0; --n)
          cuts.push_back(random_.In(0, size));
        if (trial == 0) cuts.push_back(cuts[0] + 1);  // a piece of one byte
        if (trial == 1) cuts.push_back(cuts[0]);      // an empty one
        std::erase_if(cuts, [&](int64_t cut) { return cut > size; });
        const Result got = CopyAll(CutAt(src, cuts), plans);
        ASSERT_EQ(got.outputs, expected.outputs)
            << "op " << c.op.index() << ", " << bits << " bits";
        in_place += got.joined == 0;
        if (got.joined != 0) {
          EXPECT_EQ(got.joined, size);
        }
      }
    }
  EXPECT_GT(in_place, 100);
}

TEST_F(PiecesTest, CutsAnywhereChangeNothingThatNoCacheHolds) {
  struct Sized : Case {  // the shape of the outermost index
    int64_t bits;
  };
  const Sized cases[] = {
      {{Transpose{{0, 3, 1, 2}}, {64, 64, 64}}, 32},
      {{Transpose{{0, 3, 1, 2}}, {63, 65, 24}}, 16},
      {{Transpose{{3, 0, 1, 2}}, {100, 100, 3}}, 8},
      {{Transpose{{0, 2, 1, 3}}, {60, 100, 24}}, 32},
      {{ShuffleChannels{1, 4}, {64, 28, 28}}, 32},
      {{VariadicSplit{2, {10, 1, 53}}, {1000, 64, 4}}, 32},
  };
  for (const Sized& c : cases) {
    std::vector<int64_t> shape = c.shape;
    int64_t bytes = c.bits / 8;
    for (int64_t extent : shape) bytes *= extent;
    // So much is written past the last cache.
    shape.insert(shape.begin(), ThisMachine().l3 / 4 * 3 / bytes + 1);
    const std::vector<Plan> plans = PlansOf(c.op, shape, c.bits);
    const Bytes src = RandomBytes(shape[0] * bytes);
    const Result expected = CopyAll({src}, plans);
    std::vector<int64_t> cuts;
    for (int64_t at = random_.In(1, 100); at < std::ssize(src);
         at += random_.In(1 << 20, 5 << 20))
      cuts.push_back(at);
    const Result got = CopyAll(CutAt(src, cuts), plans);
    EXPECT_EQ(got.joined, 0) << "op " << c.op.index();
    ASSERT_EQ(got.outputs, expected.outputs) << "op " << c.op.index();
  }
}

TEST_F(PiecesTest, LinesAreMadeOfSeveralPiecesWithoutBringingAllTogether) {
  const Case cases[] = {
      {Transpose{{0, 2, 3, 1}}, {3, 3, 300, 401}},
      {Transpose{{0, 2, 1}}, {2, 70, 6000}},
      {Transpose{{0, 3, 2, 1}}, {4, 3, 5, 7000}},
      {Transpose{{2, 0, 1}}, {3, 5, 70000}},
      {VariadicSplit{1, {5, 11}}, {3, 16, 30000}},
      {VariadicSplit{0, {1, 500000}}, {500001}},
  };
  for (const Case& c : cases)
    for (const int64_t bits : {8, 16, 32, 64, 128, 6}) {
      const std::vector<Plan> plans = PlansOf(c.op, c.shape, bits);
      const Bytes src = RandomTensor(c.shape, bits);
      const Result expected = CopyAll({src}, plans);
      std::vector<int64_t> cuts;
      for (int64_t at = random_.In(130 << 10, 200 << 10); at < std::ssize(src);
           at += random_.In(130 << 10, 400 << 10))
        cuts.push_back(at);
      // The last piece is not small either.
      if (cuts.size() > 1) cuts.pop_back();
      const Result got = CopyAll(CutAt(src, cuts), plans);
      ASSERT_EQ(got.outputs, expected.outputs)
          << "op " << c.op.index() << ", " << bits << " bits";
      if (bits % 8 == 0 && cuts.size() > 1) {
        EXPECT_EQ(got.joined, 0)
            << "op " << c.op.index() << ", " << bits << " bits";
      }
    }
}

// The shape of `elements` or some more.
Shape LargeShape(testing::Random& random, int64_t elements) {
  Shape shape;
  int64_t others = 1;
  for (int64_t rank = random.In(1, 5); rank > 1; --rank) {
    const int64_t most =
        std::min(random.Of<int64_t>({4, 20, 200}), elements / others);
    shape.push_back(random.In(1, most));
    others *= shape.back();
  }
  shape.insert(shape.begin() + random.In(0, std::ssize(shape)),
               elements / others + 1);
  return shape;
}

// What some ops in a row make of a dense tensor of `shape`.
Views RandomViews(testing::Random& random, const Shape& shape) {
  Views views = {Dense(shape)};
  for (int64_t ops = random.In(1, 3); ops > 0; --ops) {
    const Op op = testing::RandomOp(random, ShapeOf(views[0]));
    Views next;
    for (const View& view : views) {
      if (!Validate(op, ShapeOf(view)).ok()) continue;
      std::optional<Views> made = Apply(op, view);
      if (made) std::ranges::move(*made, std::back_inserter(next));
    }
    if (!next.empty()) views = next;
  }
  return views;
}

// Ops and cuts that nobody thought of. AXIS_PIECES: how many.
TEST_F(PiecesTest, RandomCutsOfRandomOpsChangeNothing) {
  const char* const count = std::getenv("AXIS_PIECES");
  const int trials = count != nullptr ? std::atoi(count) : 100;
  int in_place = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const int64_t bits =
        random_.Of<int64_t>({1, 2, 3, 4, 6, 8, 16, 32, 64, 128});
    const Shape shape = LargeShape(random_, (random_.In(1, 24) << 20) / bits);
    std::vector<Plan> plans;
    for (const View& view : RandomViews(random_, shape))
      plans.push_back(CompilePlan(view, bits));
    const Bytes src = RandomTensor(shape, bits);
    const Result expected = CopyAll({src}, plans);
    std::vector<int64_t> cuts;
    for (int64_t at = random_.In(0, 300 << 10); at < std::ssize(src);
         at += random_.In(0, 600 << 10))
      cuts.push_back(at);
    const Result got = CopyAll(CutAt(src, cuts), plans);
    ASSERT_EQ(got.outputs, expected.outputs) << "trial " << trial;
    in_place += got.joined == 0;
  }
  EXPECT_GT(in_place, trials / 3);
}

TEST_F(PiecesTest, SmallPiecesAreBroughtTogetherOnceInPooledMemory) {
  const std::vector<Plan> plans = PlansOf(Transpose{}, {512, 1024}, 32);
  const Bytes src = RandomBytes(512 * 1024 * 4);
  std::vector<int64_t> cuts;
  for (int64_t at = 0; at < std::ssize(src); at += random_.In(0, 100000))
    cuts.push_back(at);
  const auto pool = std::make_shared<BufferPool>(64 << 20);
  const Pieces pieces = CutAt(src, cuts);
  Bytes out(src.size());
  const Target target{&plans[0], out.data()};
  EXPECT_EQ(Copy(pieces, {&target, 1}, pool.get()), std::ssize(src));
  EXPECT_EQ(out, CopyAll({src}, plans).outputs[0]);
  EXPECT_EQ(pool->GetStats().live_bytes, 0);
  EXPECT_GE(pool->GetStats().idle_bytes, std::ssize(src));
}

// As they come from a socket that is read as fast as it is written.
TEST_F(PiecesTest, IsReadInPlaceFromTheSizeThatPaysForTheCuts) {
  const auto joins = [&](const Op& op, const std::vector<int64_t>& shape,
                         int64_t piece) {
    const std::vector<Plan> plans = PlansOf(op, shape, 32);
    const Bytes src = RandomTensor(shape, 32);
    std::vector<int64_t> cuts;
    for (int64_t at = piece; at < std::ssize(src); at += piece)
      cuts.push_back(at);
    const Result got = CopyAll(CutAt(src, cuts), plans);
    EXPECT_EQ(got.outputs, CopyAll({src}, plans).outputs);
    return got.joined != 0;
  };
  const Op to_nchw = Transpose{{0, 3, 1, 2}};
  EXPECT_FALSE(joins(to_nchw, {8, 64, 64, 64}, 64 << 10));
  EXPECT_TRUE(joins(to_nchw, {8, 64, 64, 64}, 63 << 10));
  // Each of many outputs has a cut of its own.
  const Op split = VariadicSplit{1, Shape(16, 1)};
  EXPECT_FALSE(joins(split, {65536, 16}, 128 << 10));
  EXPECT_TRUE(joins(split, {65536, 16}, 127 << 10));
  // Lines are made of what lies in several pieces.
  EXPECT_FALSE(joins(Transpose{}, {512, 8192}, 128 << 10));
  EXPECT_TRUE(joins(Transpose{}, {512, 8192}, 127 << 10));
}

}  // namespace
}  // namespace axis
