#include "kernels/ops.h"

#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace axis {
namespace {

using Extents = std::span<const int64_t>;

size_t Wrap(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank)
                                      : axis);
}

// `lowest` is -rank where negative axes count from the end, else 0.
absl::Status CheckAxis(int64_t axis, int64_t lowest, size_t rank) {
  const int64_t end = static_cast<int64_t>(rank);
  if (rank == 0)
    return FieldError("axis", absl::StrCat("names axis ", axis,
                                           " of a scalar, which "
                                           "has none"));
  if (lowest <= axis && axis < end) return absl::OkStatus();
  return FieldError(
      "axis", absl::StrCat("must lie in [", lowest, ", ", end, "), is ", axis));
}

absl::Status CheckAxis(int64_t axis, Extents shape) {
  return CheckAxis(axis, -static_cast<int64_t>(shape.size()), shape.size());
}

// Views of what make() returns, made where it stays: to move a view takes as
// long as to make one.
template <class Make>
std::optional<Views> Only(Make make) {
  struct Made {
    Make& make;
    explicit operator View() const { return make(); }
  };
  std::optional<Views> views(std::in_place);
  views->emplace_back(Made{make});
  return views;
}

// ---- Transpose

absl::Status Check(const Transpose& op, Extents shape) {
  const int64_t rank = static_cast<int64_t>(shape.size());
  if (op.order.empty()) return absl::OkStatus();
  if (op.order.size() != shape.size())
    return FieldError("order",
                      absl::StrCat("must be empty or name each of the ", rank,
                                   " axes, names ", op.order.size()));
  std::vector<bool> seen(shape.size());
  for (size_t i = 0; i < op.order.size(); ++i) {
    const int64_t axis = op.order[i];
    const auto field = [&] { return absl::StrCat("order[", i, "]"); };
    if (axis < 0 || axis >= rank)
      return FieldError(field(),
                        absl::StrCat("must lie in [0, ", rank, "), is ", axis));
    if (seen[static_cast<size_t>(axis)])
      return FieldError(field(), absl::StrCat("names axis ", axis, " again"));
    seen[static_cast<size_t>(axis)] = true;
  }
  return absl::OkStatus();
}

std::optional<Views> Do(const Transpose& op, const View& view) {
  if (!op.order.empty()) return Only([&] { return Permute(view, op.order); });
  Shape reversed(view.rank());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return Only([&] { return Permute(view, reversed); });
}

// ---- ShuffleChannels

absl::Status Check(const ShuffleChannels& op, Extents shape) {
  AXIS_RETURN_IF_ERROR(CheckAxis(op.axis, shape));
  const int64_t extent = shape[Wrap(op.axis, shape.size())];
  if (op.group >= 1 && extent % op.group == 0) return absl::OkStatus();
  return FieldError("group",
                    absl::StrCat("must be at least 1 and divide the extent of "
                                 "the axis, ",
                                 extent, "; is ", op.group));
}

// Reshape, swap, reshape: the definition of the op, verbatim.
std::optional<Views> Do(const ShuffleChannels& op, const View& view) {
  const size_t axis = Wrap(op.axis, view.rank());
  if (SizeOf(view) == 0) return Views{view};  // nothing to interleave
  std::optional<View> split = Split(view, axis, op.group);
  if (!split) return std::nullopt;
  return Only([&] { return Merge(Swap(*split, axis), axis); });
}

// ---- VariadicSplit

absl::Status Check(const VariadicSplit& op, Extents shape) {
  AXIS_RETURN_IF_ERROR(CheckAxis(op.axis, shape));
  const int64_t extent = shape[Wrap(op.axis, shape.size())];
  int64_t rest = extent;  // what the lengths seen so far leave over
  bool open = false;      // a -1 was seen
  for (size_t k = 0; k < op.split_lengths.size(); ++k) {
    const int64_t length = op.split_lengths[k];
    const auto field = [&] { return absl::StrCat("split_lengths[", k, "]"); };
    if (length < -1)
      return FieldError(field(),
                        absl::StrCat("must be -1 or more, is ", length));
    if (length == -1 && open)
      return FieldError(field(), "is a second -1; at most one is allowed");
    if (length > rest)
      return FieldError(
          field(), absl::StrCat("is ", length, ", but only ", rest, " of the ",
                                extent, " are left"));
    if (length == -1) {
      open = true;
    } else {
      rest -= length;
    }
  }
  if (op.split_lengths.empty())
    return FieldError("split_lengths", "must name at least one piece");
  if (rest != 0 && !open)
    return FieldError("split_lengths",
                      absl::StrCat("must sum to the extent of the axis, ",
                                   extent, "; sum to ", extent - rest));
  return absl::OkStatus();
}

std::optional<Views> Do(const VariadicSplit& op, const View& view) {
  const size_t axis = Wrap(op.axis, view.rank());
  int64_t rest = ShapeOf(view)[axis];
  for (int64_t length : op.split_lengths) rest -= length == -1 ? 0 : length;
  Views out;
  out.reserve(op.split_lengths.size());
  int64_t begin = 0;
  for (int64_t length : op.split_lengths) {
    if (length == -1) length = rest;
    std::optional<View> piece = Slice(view, axis, begin, length);
    if (!piece) return std::nullopt;
    out.push_back(*std::move(piece));
    begin += length;
  }
  return out;
}

// ---- EqualSplit

absl::Status Check(const EqualSplit& op, Extents shape) {
  AXIS_RETURN_IF_ERROR(CheckAxis(op.axis, shape));
  const int64_t extent = shape[Wrap(op.axis, shape.size())];
  if (1 <= op.num_splits && op.num_splits <= kMaxOutputs &&
      extent % op.num_splits == 0)
    return absl::OkStatus();
  return FieldError("num_splits",
                    absl::StrCat("must lie in [1, ", kMaxOutputs,
                                 "] and divide the extent of the axis, ",
                                 extent, "; is ", op.num_splits));
}

std::optional<Views> Do(const EqualSplit& op, const View& view) {
  const int64_t extent = ShapeOf(view)[Wrap(op.axis, view.rank())];
  VariadicSplit split{op.axis, {}};
  split.split_lengths.resize(static_cast<size_t>(op.num_splits),
                             extent / op.num_splits);
  return Do(split, view);
}

// ---- Shuffle

absl::Status Check(const Shuffle& op, Extents shape) {
  AXIS_RETURN_IF_ERROR(CheckAxis(op.axis, 0, shape.size()));
  const int64_t extent = shape[static_cast<size_t>(op.axis)];
  if (1 <= op.group_size && op.group_size <= extent &&
      extent % op.group_size == 0)
    return absl::OkStatus();
  return FieldError("group_size",
                    absl::StrCat("must lie in [1, ", extent,
                                 "] and divide the extent of the axis, ",
                                 extent, "; is ", op.group_size));
}

std::optional<Views> Do(const Shuffle& op, const View& view) {
  const int64_t extent = ShapeOf(view)[static_cast<size_t>(op.axis)];
  const int64_t group = op.backward ? op.group_size : extent / op.group_size;
  return Do(ShuffleChannels{op.axis, group}, view);
}

}  // namespace

absl::Status Validate(const Op& op, std::span<const int64_t> shape) {
  return std::visit([&](const auto& o) { return Check(o, shape); }, op);
}

std::optional<Views> Apply(const Op& op, const View& view) {
  return std::visit([&](const auto& o) { return Do(o, view); }, op);
}

}  // namespace axis
