#include "kernels/view.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <numeric>
#include <utility>

namespace axis {
namespace {

int64_t ExtentOf(Axis modes) {
  int64_t extent = 1;
  for (const Mode& mode : modes) extent *= mode.extent;
  return extent;
}

// `view`, with other modes for one axis.
View WithAxis(const View& view, size_t axis, Axis modes) {
  View out{.modes = {}, .ends = {}, .offset = view.offset};
  for (size_t i = 0; i < view.rank(); ++i) {
    const Axis from = i == axis ? modes : view.axis(i);
    out.modes.insert(out.modes.end(), from.begin(), from.end());
    out.ends.push_back(static_cast<uint32_t>(out.modes.size()));
  }
  return out;
}

// Whether axes that end there are of one mode each, as all are until one is
// cut.
bool IsPlain(const uint32_t* ends, size_t rank) {
  for (size_t i = 0; i < rank; ++i)
    if (ends[i] != i + 1) return false;
  return true;
}

}  // namespace

View Dense(std::span<const int64_t> shape) {
  View view;
  view.modes.resize(shape.size());
  view.ends.resize(shape.size());
  Mode* const modes = view.modes.data();
  uint32_t* const ends = view.ends.data();
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    modes[i] = {shape[i], stride};
    ends[i] = static_cast<uint32_t>(i + 1);
    // Past an extent of 0 the stride is never used; keep it from vanishing.
    stride *= std::max<int64_t>(shape[i], 1);
  }
  return view;
}

absl::InlinedVector<View, 2> Stored(std::span<const int64_t> shape,
                                    Layout layout) {
  if (layout == kRowMajor) return {Dense(shape)};
  assert(shape.size() >= 2);
  const int64_t block =
      layout == kChannelsLast ? std::max<int64_t>(shape[1], 1) : layout.block;
  const int64_t blocks = shape[1] / block, rest = shape[1] % block;
  // Axes (N, blocks, spatial..., channels of a block); the last one moves to
  // the blocks, to make the channels with them.
  Shape outer(shape.begin(), shape.end());
  outer[1] = blocks + (rest > 0);
  outer.push_back(block);
  View whole = Dense(outer);
  const Mode within = whole.modes.back();
  whole.modes.pop_back();
  whole.ends.pop_back();
  const int64_t stride = whole.axis(1)[0].stride;
  const Mode all[] = {{blocks, stride}, within};
  const Mode others[] = {{rest, within.stride}};
  View tail = WithAxis(whole, 1, others);
  tail.offset = blocks * stride;
  if (blocks == 0) return {std::move(tail)};
  whole = WithAxis(whole, 1, all);
  if (rest == 0) return {std::move(whole)};
  return {std::move(whole), std::move(tail)};
}

View FarApart(std::span<const int64_t> shape, Layout layout) {
  const Mode channels[] = {{shape[1], kFarApart}};
  View view = WithAxis(Stored(shape, layout)[0], 1, channels);
  view.offset = 0;
  return view;
}

std::optional<View> OneChannel(const View& view, int64_t k,
                               std::span<const int64_t> shape, Layout layout) {
  std::optional<View> channel = Slice(view, 1, k, 1);
  if (!channel) return std::nullopt;
  for (const Mode& mode : channel->modes)
    if (mode.extent > 1 && mode.stride >= kFarApart) return std::nullopt;
  const int64_t c = channel->offset / kFarApart;
  const int64_t whole = c / layout.block * layout.block;
  int64_t positions = 1;
  for (size_t i = 2; i < shape.size(); ++i) positions *= shape[i];
  channel->offset = channel->offset % kFarApart + whole * positions + c - whole;
  return channel;
}

Shape ShapeOf(const View& view) {
  Shape shape;
  shape.reserve(view.rank());
  for (size_t i = 0; i < view.rank(); ++i)
    shape.push_back(ExtentOf(view.axis(i)));
  return shape;
}

int64_t SizeOf(const View& view) {
  // An extent of 0 anywhere wins before the product can leave 63 bits.
  for (const Mode& mode : view.modes)
    if (mode.extent == 0) return 0;
  return ExtentOf(view.modes);
}

View Permute(const View& view, std::span<const int64_t> order) {
  assert(order.size() == view.rank());
  View out = view;
  const Mode* const from = view.modes.data();
  const uint32_t* const ends = view.ends.data();
  Mode* to = out.modes.data();
  if (IsPlain(ends, view.rank())) {  // the ends stay
    for (int64_t axis : order) *to++ = from[axis];
    return out;
  }
  uint32_t* end = out.ends.data();
  for (int64_t axis : order) {
    for (uint32_t m = axis == 0 ? 0 : ends[axis - 1]; m < ends[axis]; ++m)
      *to++ = from[m];
    *end++ = static_cast<uint32_t>(to - out.modes.data());
  }
  return out;
}

View Swap(const View& view, size_t axis) {
  Shape order(view.rank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[axis], order[axis + 1]);
  return Permute(view, order);
}

View Merge(View view, size_t axis) {
  view.ends.erase(view.ends.begin() + static_cast<ptrdiff_t>(axis));
  return view;
}

std::optional<View> Split(View view, size_t axis, int64_t outer) {
  assert(outer >= 1 && ExtentOf(view.axis(axis)) > 0 &&
         ExtentOf(view.axis(axis)) % outer == 0);
  // The outermost modes go to the first axis, until `outer` is filled.
  size_t m = view.begin(axis);
  for (int64_t wanted = outer; wanted > 1; ++m) {
    Mode& mode = view.modes[m];
    if (wanted % mode.extent == 0) {
      wanted /= mode.extent;
      continue;
    }
    if (mode.extent % wanted != 0) return std::nullopt;
    const Mode inner = {mode.extent / wanted, mode.stride};
    mode = {wanted, mode.stride * inner.extent};
    view.modes.insert(view.modes.begin() + static_cast<ptrdiff_t>(m) + 1,
                      inner);
    for (size_t i = axis; i < view.rank(); ++i) ++view.ends[i];
    wanted = 1;
  }
  view.ends.insert(view.ends.begin() + static_cast<ptrdiff_t>(axis),
                   static_cast<uint32_t>(m));
  return view;
}

std::optional<View> Slice(View view, size_t axis, int64_t begin,
                          int64_t extent) {
  assert(0 <= begin && 0 <= extent &&
         begin + extent <= ExtentOf(view.axis(axis)));
  if (extent == 0) {
    const Mode none[] = {{0, 1}};
    return WithAxis(view, axis, none);
  }
  // Walk inward while the piece lies within a single index of the outer mode.
  Mode* const modes = view.modes.data();
  const size_t end = view.ends[axis];
  for (size_t m = view.begin(axis); m < end; ++m) {
    Mode& mode = modes[m];
    const int64_t inner = ExtentOf(Axis(modes + m + 1, end - m - 1));
    const int64_t first = begin / inner;
    view.offset += first * mode.stride;
    begin -= first * inner;
    if (begin == 0 && extent % inner == 0) {
      mode.extent = extent / inner;
      return view;
    }
    if (begin + extent > inner) return std::nullopt;
    mode.extent = 1;
  }
  return view;
}

}  // namespace axis
