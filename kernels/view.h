// Views: the elements of a buffer, named in a new order, not moved.
//
// Every op of axisd is a view. Only a Plan (plan.h) moves bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/container/inlined_vector.h"

namespace axis {

// The extents of a tensor, outermost axis first; empty for a scalar.
using Shape = absl::InlinedVector<int64_t, 8>;

// `extent` elements that lie `stride` elements apart.
struct Mode {
  int64_t extent;
  int64_t stride;

  friend bool operator==(const Mode&, const Mode&) = default;
};

// One logical axis: the row-major product of its modes, outermost first.
//
// One mode is enough until an axis has been shuffled. A shuffled axis has no
// single stride, but it is still a product of two strided ones; keeping it so
// lets later ops fuse with the shuffle instead of forcing a copy. The idea is
// that of the nested layouts of CuTe.
using Axis = std::span<const Mode>;

// An n-dimensional arrangement of the elements of one buffer.
//
// Element (i, j, ...) of the view is element `offset + sum of index * stride`
// of the buffer, once each axis index is split into the indices of its modes.
//
// The modes of all axes lie one after another: a view is made, copied and
// dropped as two short arrays, and axes are merged and split by where they end.
struct View {
  absl::InlinedVector<Mode, 8> modes;     // outermost axis first
  absl::InlinedVector<uint32_t, 8> ends;  // of each axis, among the modes
  int64_t offset = 0;                     // in elements

  size_t rank() const { return ends.size(); }
  size_t begin(size_t axis) const { return axis == 0 ? 0 : ends[axis - 1]; }
  Axis axis(size_t i) const {
    return Axis(modes).subspan(begin(i), ends[i] - begin(i));
  }

  friend bool operator==(const View&, const View&) = default;
};

// The view that leaves a dense row-major buffer of `shape` as it is.
// REQUIRES: the product of the non-zero extents fits 63 bits.
View Dense(std::span<const int64_t> shape);

// How the elements of a tensor of shape (N, C, spatial...) lie in a buffer:
// `block` channels together, innermost, so that the buffer is a row-major
// (N, ceil(C / block), spatial..., block). What the last block has beyond C is
// padding.
//
// Row-major is blocks of one channel, channels last one block of all.
struct Layout {
  int64_t block = 1;  // 0: of all channels

  friend bool operator==(const Layout&, const Layout&) = default;
};
inline constexpr Layout kRowMajor{1};
inline constexpr Layout kChannelsLast{0};

// The views that name the elements of a tensor of `shape` in a buffer with
// `layout`: one; or where the last of several blocks has padding two, of the
// channels of all the others and of its own.
// REQUIRES: layout == kRowMajor, or rank >= 2; the product of the non-zero
// extents, padding included, fits 63 bits.
absl::InlinedVector<View, 2> Stored(std::span<const int64_t> shape,
                                    Layout layout);

// Channels that lie in blocks are in no even distance from one another. A view
// of kFarApart, whose channels are, can be taken through any ops; OneChannel()
// then finds out where each lies.
//
// The view of a tensor of `shape` stored with `layout`, channels kFarApart.
// REQUIRES: rank >= 2; offsets in the buffer are less than kFarApart.
inline constexpr int64_t kFarApart = int64_t{1} << 40;
View FarApart(std::span<const int64_t> shape, Layout layout);

// Index `k` of axis 1 of `view`, which was made of FarApart(shape, layout), as
// a view of the buffer itself; nullopt if that is not one channel.
std::optional<View> OneChannel(const View& view, int64_t k,
                               std::span<const int64_t> shape, Layout layout);

// The extents of the axes, outermost first.
Shape ShapeOf(const View& view);

// The number of elements; 1 for a scalar.
int64_t SizeOf(const View& view);

// Reorders the axes: axis i of the result is axis order[i] of `view`.
// REQUIRES: `order` is a permutation of [0, rank).
View Permute(const View& view, std::span<const int64_t> order);

// Lets axes `axis` and `axis + 1` change places.
// REQUIRES: axis < rank - 1.
View Swap(const View& view, size_t axis);

// Merges axes `axis` and `axis + 1` into one. Always possible.
// REQUIRES: axis < rank - 1.
View Merge(View view, size_t axis);

// Splits `axis` of extent C into two of extents (outer, C / outer). Returns
// nullopt if the cut falls inside a mode it does not divide: then no view can
// express it, and the caller must copy first.
// REQUIRES: outer >= 1 divides C; C > 0.
std::optional<View> Split(View view, size_t axis, int64_t outer);

// Keeps `extent` consecutive indices of `axis`, from `begin`. Returns nullopt
// under the same condition as Split.
// REQUIRES: 0 <= begin, 0 <= extent, begin + extent <= C.
std::optional<View> Slice(View view, size_t axis, int64_t begin,
                          int64_t extent);

}  // namespace axis
