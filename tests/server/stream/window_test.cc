// Claims of server/stream/window.h: what must be held of the outputs, against
// the positions of all elements; what can be forwarded or must be collected.
#include "server/stream/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/kernels/random_copy.h"
#include "tests/random_chain.h"
#include "tests/reference.h"

namespace axis {
namespace {

Program Compile(const Shape& shape, const std::vector<Op>& ops, int64_t bits) {
  const InputSpec spec{shape, bits};
  auto program =
      CompileProgram({&spec, 1}, ops, [](size_t) { return std::string("op"); });
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

// Where each element of the input goes in the outputs laid end to end.
std::vector<int64_t> Places(const std::vector<reference::Array>& outputs,
                            size_t elements) {
  std::vector<int64_t> places(elements);
  int64_t place = 0;
  for (const auto& output : outputs)
    for (int64_t item : output.items)
      places[static_cast<size_t>(item)] = place++;
  return places;
}

// The window, element by element.
int64_t Window(const std::vector<int64_t>& places) {
  std::vector<int64_t> first_missing(places.size() + 1,
                                     std::numeric_limits<int64_t>::max());
  for (size_t i = places.size(); i-- > 0;)
    first_missing[i] = std::min(first_missing[i + 1], places[i]);
  int64_t last = 0, window = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    last = std::max(last, places[i]);
    window = std::max(window, last + 1 - first_missing[i]);
  }
  return window;
}

// A random chain of one pass on a random tensor.
struct Case {
  Program program;
  int64_t width;                // bytes of an element
  std::vector<int64_t> places;  // of all elements
  size_t outputs;
};

// Calls f(i, case) for many of them.
template <class F>
void ForRandomCases(uint64_t seed, const F& f) {
  testing::Random random(seed);
  for (int i = 0; i < 3000; ++i) {
    const Shape shape = testing::RandomShape(random, 2000);
    const testing::Chain chain = testing::RandomChain(random, shape);
    const int64_t width = random.Of(std::vector<int64_t>{1, 2, 4, 8, 16});
    const Program program = Compile(shape, chain.ops, width * 8);
    if (program.passes.size() > 1) continue;
    f(i, Case{program, width,
              Places(chain.outputs, static_cast<size_t>(SizeOf(Dense(shape)))),
              chain.outputs.size()});
  }
}

TEST(Window, IsWhatIsBetweenTheFirstMissingElementAndTheLastWritten) {
  int exact = 0, split = 0;
  ForRandomCases(1, [&](int i, const Case& c) {
    const std::vector<Stretch> outputs = Stretches(c.program);
    const int64_t want = Window(c.places) * c.width;
    const int64_t got = WindowOf(GroupsOf(outputs));
    if (c.outputs == 1) {
      EXPECT_EQ(got, want) << "case " << i;
      ++exact;
    } else {
      EXPECT_GE(got, want) << "case " << i;
      EXPECT_LE(got, static_cast<int64_t>(c.places.size()) * c.width);
      ++split;
    }
    EXPECT_EQ(IsIdentity(outputs),
              std::is_sorted(c.places.begin(), c.places.end()))
        << "case " << i;
  });
  EXPECT_GT(exact, 500);
  EXPECT_GT(split, 500);
}

TEST(Window, IsOneIterationOfWhatKeepsTheOuterAxis) {
  const Shape shape = {100, 8, 8, 3};
  const auto window = [&](std::vector<Op> ops) {
    return WindowOf(GroupsOf(Stretches(Compile(shape, ops, 32))));
  };
  const int64_t image = 8 * 8 * 3 * 4;
  EXPECT_LE(window({Transpose{{0, 3, 1, 2}}}), image);
  EXPECT_LE(window({ShuffleChannels{3, 3}}), 3 * 4);
  // An outer split, and each of its outputs by images.
  EXPECT_LE(window({VariadicSplit{0, {40, -1}}, Transpose{{0, 3, 1, 2}}}),
            image);
  // Each output holds a part of every image: all of it must be held.
  EXPECT_EQ(window({VariadicSplit{1, {4, 4}}}), 100 * image);
  EXPECT_EQ(window({}), 4);
}

TEST(Segments, AreFilledByTheInputOneAfterTheOther) {
  testing::Random random(2);
  int several = 0;
  ForRandomCases(2, [&](int i, const Case& c) {
    const std::vector<Group> groups = GroupsOf(Stretches(c.program));
    const int64_t largest = random.In(1, 3000);
    int64_t dst = 0, at = 0, n = 0;
    Segments cut(groups);
    for (Segment s = cut.Next(largest); s.dst_end > s.dst_begin;
         s = cut.Next(largest), ++n) {
      EXPECT_EQ(s.dst_begin, dst) << "case " << i;
      dst = s.dst_end;
      for (; at < s.src_end; at += c.width) {
        const int64_t place =
            c.places[static_cast<size_t>(at / c.width)] * c.width;
        ASSERT_TRUE(s.dst_begin <= place && place < s.dst_end) << "case " << i;
      }
      int64_t step = 0;
      for (const Group& g : groups)
        if (g.dst_begin < s.dst_end && s.dst_begin < g.dst_end)
          step = std::max(step, g.dst_step);
      EXPECT_LE(s.dst_end - s.dst_begin, std::max(step, largest));
    }
    EXPECT_EQ(dst, static_cast<int64_t>(c.places.size()) * c.width);
    EXPECT_EQ(at, dst) << "case " << i;
    several += n > 1;
  });
  EXPECT_GT(several, 500);
}

TEST(Segments, AreAsManyStepsAsFit) {
  const Shape shape = {100, 8, 8, 3};
  const auto first = [&](std::vector<Op> ops, int64_t bytes) {
    Segments cut(GroupsOf(Stretches(Compile(shape, ops, 32))));
    return cut.Next(bytes).dst_end;
  };
  const int64_t image = 8 * 8 * 3 * 4;
  EXPECT_EQ(first({Transpose{{0, 3, 1, 2}}}, 5 * image + 1), 5 * image);
  EXPECT_EQ(first({Transpose{{0, 3, 1, 2}}}, 1), image);
  EXPECT_EQ(first({ShuffleChannels{3, 3}}, 1000), 1000 / 4 * 4);
  // Several outputs, if one comes after the other.
  const std::vector<Op> split = {VariadicSplit{0, {1, 2, -1}},
                                 Transpose{{0, 3, 1, 2}}};
  EXPECT_EQ(first(split, 3 * image - 1), 2 * image);
  EXPECT_EQ(first(split, 4 * image), 4 * image);
  EXPECT_EQ(first({VariadicSplit{1, {4, 4}}}, 1), 100 * image);
}

TEST(Window, NarrowPlansAreCutWhereTheyAreWholeBytes) {
  const auto whole = [](Shape shape, std::vector<Op> ops, int64_t bits) {
    const Program program = Compile(shape, ops, bits);
    return IsWholeUnits(*Stretches(program)[0].plan);
  };
  EXPECT_TRUE(whole({3, 5, 2}, {Transpose{{1, 0, 2}}}, 4));
  EXPECT_FALSE(whole({3, 5, 3}, {Transpose{{1, 0, 2}}}, 4));
  EXPECT_TRUE(whole({3, 5, 8}, {Transpose{{1, 0, 2}}}, 3));
  EXPECT_FALSE(whole({3, 5, 4}, {Transpose{{1, 0, 2}}}, 3));
}

}  // namespace
}  // namespace axis
