// Claims of kernels/view.h.
#include "kernels/view.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/kernels/random_copy.h"
#include "tests/reference.h"

namespace axis {
namespace {

using testing::Offsets;

View DenseOf(std::vector<int64_t> shape) { return Dense(shape); }

TEST(View, DenseNamesTheElementsInOrder) {
  EXPECT_EQ(Offsets(DenseOf({2, 3})), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(Offsets(DenseOf({})), std::vector<int64_t>{0});
  EXPECT_TRUE(Offsets(DenseOf({2, 0, 3})).empty());
}

TEST(View, StoredNamesEveryElementWhereOneDnnHasIt) {
  for (const int64_t channels : {1, 3, 4, 8, 12, 16, 21})
    for (const int64_t block : {0, 4, 8, 16}) {
      const std::vector<int64_t> shape = {2, channels, 3, 2};
      const auto parts = Stored(shape, {block});
      EXPECT_EQ(parts.size(),
                block != 0 && channels > block && channels % block ? 2u : 1u);
      int64_t begin = 0;
      for (const View& part : parts) {
        const Shape extents = ShapeOf(part);
        std::vector<int64_t> expected;
        reference::ForEach({extents.begin(), extents.end()}, [&](auto index) {
          index[1] += begin;
          expected.push_back(reference::StoredAt(shape, index, block));
        });
        EXPECT_EQ(Offsets(part), expected) << channels << " by " << block;
        begin += extents[1];
      }
      EXPECT_EQ(begin, channels);
    }
  EXPECT_EQ(Stored(Shape{5}, kRowMajor)[0], DenseOf({5}));
}

TEST(View, SizeOfAnEmptyTensorIsZeroWhateverItsOtherExtents) {
  const int64_t big = int64_t{1} << 31;
  EXPECT_EQ(SizeOf(DenseOf({big, big, 0})), 0);
  EXPECT_EQ(SizeOf(DenseOf({0, big, big})), 0);
  EXPECT_EQ(SizeOf(DenseOf({})), 1);
}

TEST(View, PermuteReordersAxes) {
  const std::vector<int64_t> order = {1, 0};
  const View view = Permute(DenseOf({2, 3}), order);
  EXPECT_EQ(ShapeOf(view), (Shape{3, 2}));
  EXPECT_EQ(Offsets(view), (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
}

TEST(View, SplitThenMergeIsTheIdentity) {
  const View dense = DenseOf({2, 12, 5});
  for (const int64_t outer : {1, 2, 3, 4, 6, 12}) {
    const std::optional<View> split = Split(dense, 1, outer);
    ASSERT_TRUE(split.has_value());
    EXPECT_EQ(ShapeOf(*split), (Shape{2, outer, 12 / outer, 5}));
    EXPECT_EQ(Offsets(Merge(*split, 1)), Offsets(dense));
  }
}

// An axis of 12 shuffled into modes of 3 and 4.
View Shuffled() { return Merge(Swap(*Split(DenseOf({12}), 0, 4), 0), 0); }

TEST(View, SplitOfAShuffledAxisWorksWhereTheCutNests) {
  EXPECT_TRUE(Split(Shuffled(), 0, 3).has_value());
  EXPECT_TRUE(Split(Shuffled(), 0, 6).has_value());  // 3 * 2
  EXPECT_FALSE(Split(Shuffled(), 0, 2).has_value());
  EXPECT_FALSE(Split(Shuffled(), 0, 4).has_value());
}

TEST(View, ShuffledAxesChangePlacesWhole) {
  const View view = *Split(*Split(Shuffled(), 0, 6), 1, 2);
  EXPECT_EQ(ShapeOf(view), (Shape{6, 2, 1}));
  const View swapped = Swap(view, 0);
  EXPECT_EQ(ShapeOf(swapped), (Shape{2, 6, 1}));
  const std::vector<int64_t> before = Offsets(view), after = Offsets(swapped);
  for (size_t i = 0; i < 6; ++i)
    for (size_t k = 0; k < 2; ++k)
      EXPECT_EQ(after[k * 6 + i], before[i * 2 + k]);
  EXPECT_EQ(Swap(swapped, 0), view);
}

TEST(View, SliceKeepsARangeOrSaysThatItCannot) {
  const View dense = DenseOf({2, 12});
  const std::vector<int64_t> all = Offsets(Shuffled());
  for (int64_t begin = 0; begin <= 12; ++begin) {
    for (int64_t extent = 0; begin + extent <= 12; ++extent) {
      const std::optional<View> plain = Slice(dense, 1, begin, extent);
      ASSERT_TRUE(plain.has_value());
      EXPECT_EQ(ShapeOf(*plain), (Shape{2, extent}));
      const std::optional<View> nested = Slice(Shuffled(), 0, begin, extent);
      // Within one row of the inner mode, or whole rows of it.
      const bool nests = extent == 0 || begin / 4 == (begin + extent - 1) / 4 ||
                         (begin % 4 == 0 && extent % 4 == 0);
      ASSERT_EQ(nested.has_value(), nests) << begin << " " << extent;
      if (nested) {
        EXPECT_EQ(Offsets(*nested),
                  std::vector<int64_t>(all.begin() + begin,
                                       all.begin() + begin + extent));
      }
    }
  }
}

}  // namespace
}  // namespace axis
