// Claims of kernels/ops.h: what each op allows, and the worked examples of the
// four specifications, by name.
#include "kernels/ops.h"

#include <gtest/gtest.h>

#include <climits>
#include <vector>

#include "kernels/copy.h"
#include "kernels/program.h"
#include "tests/reference.h"

namespace axis {
namespace {

using Extents = std::vector<int64_t>;

// The field that Validate() complains about; "" if it does not.
std::string Complaint(const Op& op, const Extents& shape) {
  const absl::Status status = Validate(op, shape);
  return status.ok() ? "" : FieldOf(status);
}

TEST(Transpose, AllowsPermutationsOnly) {
  EXPECT_EQ(Complaint(Transpose{{1, 0}}, {2, 3}), "");
  EXPECT_EQ(Complaint(Transpose{}, {2, 3}), "");
  EXPECT_EQ(Complaint(Transpose{}, {}), "");
  EXPECT_EQ(Complaint(Transpose{{0}}, {}), "order");  // a scalar has no axes
  EXPECT_EQ(Complaint(Transpose{{0}}, {2, 3}), "order");
  EXPECT_EQ(Complaint(Transpose{{0, 1, 2}}, {2, 3}), "order");
  EXPECT_EQ(Complaint(Transpose{{0, 2}}, {2, 3}), "order[1]");
  EXPECT_EQ(Complaint(Transpose{{-1, 0}}, {2, 3}), "order[0]");
  EXPECT_EQ(Complaint(Transpose{{1, 1}}, {2, 3}), "order[1]");
  EXPECT_EQ(Complaint(Transpose{{0, int64_t{1} << 32}}, {2, 3}), "order[1]");
  EXPECT_EQ(Complaint(Transpose{{0, 2}}, {0, 3}), "order[1]");  // even if empty
}

TEST(ShuffleChannels, AllowsDivisorsOfTheAxis) {
  EXPECT_EQ(Complaint(ShuffleChannels{}, {2, 3}), "");
  EXPECT_EQ(Complaint(ShuffleChannels{}, {3}), "axis");  // the default is 1
  EXPECT_EQ(Complaint(ShuffleChannels{0, 1}, {}), "axis");
  EXPECT_EQ(Complaint(ShuffleChannels{-2, 2}, {2, 3}), "");
  EXPECT_EQ(Complaint(ShuffleChannels{-3, 2}, {2, 3}), "axis");
  EXPECT_EQ(Complaint(ShuffleChannels{2, 2}, {2, 3}), "axis");
  EXPECT_EQ(Complaint(ShuffleChannels{1, 0}, {2, 3}), "group");
  EXPECT_EQ(Complaint(ShuffleChannels{1, -1}, {2, 3}), "group");
  EXPECT_EQ(Complaint(ShuffleChannels{1, 2}, {2, 3}), "group");
  EXPECT_EQ(Complaint(ShuffleChannels{1, 6}, {2, 3}), "group");
  EXPECT_EQ(Complaint(ShuffleChannels{1, 5}, {2, 0}), "");
  EXPECT_EQ(Complaint(ShuffleChannels{1, 0}, {2, 0}), "group");
}

TEST(VariadicSplit, AllowsLengthsThatSumToTheAxis) {
  EXPECT_EQ(Complaint(VariadicSplit{0, {5, 3, 2}}, {10}), "");
  EXPECT_EQ(Complaint(VariadicSplit{0, {5, -1, 2}}, {10}), "");
  EXPECT_EQ(Complaint(VariadicSplit{-1, {-1}}, {10}), "");
  EXPECT_EQ(Complaint(VariadicSplit{0, {0, 0}}, {0}), "");
  EXPECT_EQ(Complaint(VariadicSplit{0, {-1, 10}}, {10}), "");
  EXPECT_EQ(Complaint(VariadicSplit{1, {1}}, {10}), "axis");
  EXPECT_EQ(Complaint(VariadicSplit{0, {1}}, {}), "axis");
  EXPECT_EQ(Complaint(VariadicSplit{0, {}}, {0}), "split_lengths");
  EXPECT_EQ(Complaint(VariadicSplit{0, {5, 4}}, {10}), "split_lengths");
  EXPECT_EQ(Complaint(VariadicSplit{0, {5, 6}}, {10}), "split_lengths[1]");
  EXPECT_EQ(Complaint(VariadicSplit{0, {-1, 3, -1}}, {6}), "split_lengths[2]");
  EXPECT_EQ(Complaint(VariadicSplit{0, {-2, 8}}, {6}), "split_lengths[0]");
  // The remainder would be negative; the sum would wrap to 6.
  EXPECT_EQ(Complaint(VariadicSplit{0, {5, -1, 2}}, {6}), "split_lengths[2]");
  EXPECT_EQ(Complaint(VariadicSplit{0, {INT64_MAX, INT64_MAX, 8}}, {6}),
            "split_lengths[0]");
}

TEST(Shuffle, AllowsWhatOneDnnAllows) {
  EXPECT_EQ(Complaint(Shuffle{1, 3}, {1, 6}), "");
  EXPECT_EQ(Complaint(Shuffle{1, 6}, {1, 6}), "");
  EXPECT_EQ(Complaint(Shuffle{1, 1}, {0, 6}), "");  // another axis is empty
  EXPECT_EQ(Complaint(Shuffle{-1, 3}, {1, 6}), "axis");
  EXPECT_EQ(Complaint(Shuffle{2, 3}, {1, 6}), "axis");
  EXPECT_EQ(Complaint(Shuffle{0, 1}, {}), "axis");
  EXPECT_EQ(Complaint(Shuffle{1, 0}, {1, 6}), "group_size");
  EXPECT_EQ(Complaint(Shuffle{1, 4}, {1, 6}), "group_size");
  EXPECT_EQ(Complaint(Shuffle{1, 12}, {1, 6}), "group_size");
  EXPECT_EQ(Complaint(Shuffle{1, 1}, {1, 0}), "group_size");
}

// What `op` makes of 0, 1, 2, ... in `shape`, as CompileProgram and Copy do.
std::vector<reference::Array> Moved(const Op& op, const Extents& shape) {
  reference::Array in = reference::Iota(shape);
  const InputSpec spec{{shape.begin(), shape.end()}, 64};
  const Program program =
      *CompileProgram({&spec, 1}, {&op, 1}, [](size_t) { return "op"; });
  std::vector<reference::Array> out;
  for (const Program::Pass& pass : program.passes) {
    const auto bytes = std::as_bytes(std::span<const int64_t>(in.items));
    for (size_t k = 0; k < pass.writes.size(); ++k) {
      const Shape& s = program.outputs[k].shape;
      out.push_back(reference::Iota({s.begin(), s.end()}));
      const Target target{&pass.writes[k].plan, reinterpret_cast<std::byte*>(
                                                    out.back().items.data())};
      Copy({&bytes, 1}, {&target, 1});
    }
  }
  return out;
}

using Items = std::vector<int64_t>;

TEST(SpecificationExamples, Transpose1ReversesByDefault) {
  const auto out = Moved(Transpose{}, {2, 3, 4});
  EXPECT_EQ(out[0].shape, (Extents{4, 3, 2}));
  EXPECT_EQ(out[0].items[1], 12);
}
TEST(SpecificationExamples, Transpose1MovesExtentsOfOne) {
  EXPECT_EQ(Moved(Transpose{{1, 0}}, {1, 33})[0].shape, (Extents{33, 1}));
}
TEST(SpecificationExamples, ShuffleChannels1OfFifteenInFiveGroups) {
  EXPECT_EQ(Moved(ShuffleChannels{1, 5}, {1, 15})[0].items,
            (Items{0, 3, 6, 9, 12, 1, 4, 7, 10, 13, 2, 5, 8, 11, 14}));
}
TEST(SpecificationExamples, VariadicSplit1OfSixTwelveTenTwentyFour) {
  const auto out = Moved(VariadicSplit{0, {1, 2, 3}}, {6, 12, 10, 24});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0].shape, (Extents{1, 12, 10, 24}));
  EXPECT_EQ(out[1].shape, (Extents{2, 12, 10, 24}));
  EXPECT_EQ(out[2].shape, (Extents{3, 12, 10, 24}));
  EXPECT_EQ(out[2].items[0], 3 * 12 * 10 * 24);
}
TEST(SpecificationExamples, VariadicSplit1WithAnInferredLength) {
  const auto out = Moved(VariadicSplit{0, {-1, 2}}, {6, 12, 10, 24});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].shape, (Extents{4, 12, 10, 24}));
  EXPECT_EQ(out[1].shape, (Extents{2, 12, 10, 24}));
}
TEST(SpecificationExamples, OneDnnShuffleForwardAndBackwardOfTwelve) {
  EXPECT_EQ(Moved(Shuffle{1, 3}, {1, 12})[0].items,
            (Items{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}));
  EXPECT_EQ(Moved(Shuffle{1, 3, true}, {1, 12})[0].items,
            (Items{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
}

}  // namespace
}  // namespace axis
