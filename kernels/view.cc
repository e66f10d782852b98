#include "kernels/view.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace axis {
namespace {

int64_t ExtentOf(std::span<const Mode> modes) {
  int64_t extent = 1;
  for (const Mode& mode : modes) extent *= mode.extent;
  return extent;
}

}  // namespace

View Dense(std::span<const int64_t> shape) {
  View view;
  view.axes.resize(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    view.axes[i].push_back({shape[i], stride});
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
  const Mode within = whole.axes.back()[0];
  whole.axes.pop_back();
  const Mode across = whole.axes[1][0];
  View tail = whole;
  tail.offset = blocks * across.stride;
  tail.axes[1] = {{rest, within.stride}};
  if (blocks == 0) return {std::move(tail)};
  whole.axes[1] = {{blocks, across.stride}, within};
  if (rest == 0) return {std::move(whole)};
  return {std::move(whole), std::move(tail)};
}

View FarApart(std::span<const int64_t> shape, Layout layout) {
  View view = Stored(shape, layout)[0];
  view.axes[1] = {{shape[1], kFarApart}};
  view.offset = 0;
  return view;
}

std::optional<View> OneChannel(const View& view, int64_t k,
                               std::span<const int64_t> shape, Layout layout) {
  std::optional<View> channel = Slice(view, 1, k, 1);
  if (!channel) return std::nullopt;
  for (const Axis& axis : channel->axes)
    for (const Mode& mode : axis)
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
  shape.reserve(view.axes.size());
  for (const Axis& axis : view.axes) shape.push_back(ExtentOf(axis));
  return shape;
}

int64_t SizeOf(const View& view) {
  // An extent of 0 anywhere wins before the product can leave 63 bits.
  int64_t size = 1;
  for (const Axis& axis : view.axes)
    for (const Mode& mode : axis)
      if (mode.extent == 0) return 0;
  for (const Axis& axis : view.axes) size *= ExtentOf(axis);
  return size;
}

View Permute(const View& view, std::span<const int64_t> order) {
  assert(order.size() == view.axes.size());
  View out{.axes = {}, .offset = view.offset};
  for (int64_t axis : order)
    out.axes.push_back(view.axes[static_cast<size_t>(axis)]);
  return out;
}

View Merge(View view, size_t axis) {
  Axis& outer = view.axes[axis];
  const Axis& inner = view.axes[axis + 1];
  outer.insert(outer.end(), inner.begin(), inner.end());
  view.axes.erase(view.axes.begin() + static_cast<ptrdiff_t>(axis) + 1);
  return view;
}

std::optional<View> Split(const View& view, size_t axis, int64_t outer) {
  const Axis& modes = view.axes[axis];
  assert(outer >= 1 && ExtentOf(modes) > 0 && ExtentOf(modes) % outer == 0);
  // Deal the modes out, outermost first, until `outer` is filled.
  Axis head, tail;
  int64_t wanted = outer;
  for (const Mode& mode : modes) {
    if (wanted == 1) {
      tail.push_back(mode);
    } else if (wanted % mode.extent == 0) {
      head.push_back(mode);
      wanted /= mode.extent;
    } else if (mode.extent % wanted == 0) {
      const int64_t inner = mode.extent / wanted;
      head.push_back({wanted, mode.stride * inner});
      tail.push_back({inner, mode.stride});
      wanted = 1;
    } else {
      return std::nullopt;
    }
  }
  View out{.axes = view.axes, .offset = view.offset};
  out.axes[axis] = std::move(head);
  out.axes.insert(out.axes.begin() + static_cast<ptrdiff_t>(axis) + 1,
                  std::move(tail));
  return out;
}

std::optional<View> Slice(View view, size_t axis, int64_t begin,
                          int64_t extent) {
  Axis& modes = view.axes[axis];
  assert(0 <= begin && 0 <= extent && begin + extent <= ExtentOf(modes));
  if (extent == 0) {
    modes = {{0, 1}};
    return view;
  }
  // Walk inward while the piece lies within a single index of the outer mode.
  for (size_t m = 0; m < modes.size(); ++m) {
    Mode& mode = modes[m];
    const int64_t inner = ExtentOf(std::span<const Mode>(modes).subspan(m + 1));
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
