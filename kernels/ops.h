// The ops: what they allow (Validate) and what they mean (Apply).
//
// An op is pure geometry: it knows shapes, strides and attributes; never a
// type, a byte or a message. To add an op, add a struct here, a message to
// axis/v1/ops.proto, and its per-element definition to tests/reference.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "absl/container/inlined_vector.h"
#include "kernels/status.h"
#include "kernels/view.h"

namespace axis {

// Permutes the axes: axis i of the output is axis order[i] of the input.
// An empty order reverses the axes.
//
// Shape:  out.shape[i] = in.shape[order[i]]
// Law:    out[x[order[0]], x[order[1]], ...] = in[x[0], x[1], ...]
// Errors: "order"     its length is neither 0 nor the rank
//         "order[i]"  outside [0, rank), or named twice
// Source: OpenVINO opset1, Transpose-1.
struct Transpose {
  absl::InlinedVector<int64_t, 8> order;
};

// Interleaves the `group` groups of C / group channels of `axis`.
//
// Shape:  unchanged
// Law:    out[j * group + i] = in[i * (C / group) + j]  along `axis`,
//         0 <= i < group, 0 <= j < C / group
// Errors: "axis"   outside [-rank, rank)
//         "group"  less than 1, or does not divide C (0 divides by any)
// Source: OpenVINO opset1, ShuffleChannels-1.
struct ShuffleChannels {
  int64_t axis = 1;
  int64_t group = 1;
};

// Cuts `axis` into consecutive pieces, one output for each length.
//
// Shape:  out[k].shape = in.shape, with split_lengths[k] at `axis`
// Law:    out[k][i] = in[split_lengths[0] + ... + split_lengths[k-1] + i]
// Errors: "axis"              outside [-rank, rank)
//         "split_lengths[k]"  less than -1, or a second -1
//         "split_lengths"     empty, or its sum is not C
// Source: OpenVINO opset1, VariadicSplit-1.
struct VariadicSplit {
  int64_t axis = 0;
  absl::InlinedVector<int64_t, 8> split_lengths;
};

// The most tensors that one request may make.
inline constexpr int64_t kMaxOutputs = 4096;

// Cuts `axis` into `num_splits` consecutive pieces of one length.
//
// Shape:  out[k].shape = in.shape, with C / num_splits at `axis`
// Law:    out[k][i] = in[k * (C / num_splits) + i]
// Errors: "axis"        outside [-rank, rank)
//         "num_splits"  outside [1, kMaxOutputs], or does not divide C
// Source: OpenVINO opset1, Split-1.
struct EqualSplit {
  int64_t axis = 0;
  int64_t num_splits = 1;
};

// Shuffles `axis` in groups of `group_size` consecutive elements; backward
// undoes forward.
//
// Shape:  unchanged
// Law:    forward, out[j * (C / g) + i] = in[i * g + j], g = group_size,
//         0 <= i < C / g, 0 <= j < g; that is ShuffleChannels with group C / g
// Errors: "axis"        outside [0, rank): oneDNN knows no negative axes
//         "group_size"  outside [1, C], or does not divide C; so C = 0 is
//                       refused, unlike above
// Source: oneDNN developer guide, Shuffle.
struct Shuffle {
  int64_t axis = 1;
  int64_t group_size = 1;
  bool backward = false;
};

using Op = std::variant<Transpose, ShuffleChannels, VariadicSplit, Shuffle,
                        EqualSplit>;

// Asks whether `op` is allowed on a tensor of `shape`. The error, if any,
// names the guilty attribute (status.h).
absl::Status Validate(const Op& op, std::span<const int64_t> shape);

// The views of the outputs of one op.
using Views = absl::InlinedVector<View, 1>;

// Asks whether `op` is free on `view`: returns the views of its outputs, or
// nullopt if `view` is too tangled for the result to be a view. It never is
// if `view` is Dense().
// REQUIRES: Validate(op, ShapeOf(view)).ok()
std::optional<Views> Apply(const Op& op, const View& view);

}  // namespace axis
