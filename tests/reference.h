// The ops, element by element, straight from their specifications: the oracle
// of every test. Slow and obvious on purpose; shares no code with kernels/ but
// the structs that name the ops.
#pragma once

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/ops.h"

namespace axis::reference {

struct Array {
  std::vector<int64_t> shape;
  std::vector<int64_t> items;  // row-major

  int64_t& at(const std::vector<int64_t>& index) {
    int64_t n = 0;
    for (size_t i = 0; i < shape.size(); ++i) n = n * shape[i] + index[i];
    return items[static_cast<size_t>(n)];
  }
};

// 0, 1, 2, ... in row-major order.
inline Array Iota(std::vector<int64_t> shape) {
  int64_t n = 1;
  for (int64_t e : shape) n *= e;
  Array a{std::move(shape), std::vector<int64_t>(static_cast<size_t>(n))};
  for (int64_t i = 0; i < n; ++i) a.items[static_cast<size_t>(i)] = i;
  return a;
}

// Where element `index` of a tensor of `shape` lies in a buffer, in elements,
// for blocks of `b` channels: oneDNN's formula for aBx4b, aBx8b, aBx16b; for
// axb, channels last, b = 0.
inline int64_t StoredAt(const std::vector<int64_t>& shape,
                        const std::vector<int64_t>& index, int64_t b) {
  const int64_t n = index[0], c = index[1], channels = shape[1];
  int64_t sp = 0, spatial = 1;  // the spatial axes as one
  for (size_t i = 2; i < shape.size(); ++i) {
    sp = sp * shape[i] + index[i];
    spatial *= shape[i];
  }
  if (b == 0) return (n * spatial + sp) * channels + c;
  const int64_t blocks = (channels + b - 1) / b;
  return ((n * blocks + c / b) * spatial + sp) * b + c % b;
}

// How many elements such a buffer has, padding included.
inline int64_t StoredItems(const std::vector<int64_t>& shape, int64_t b) {
  int64_t items = b == 0 ? shape[1] : (shape[1] + b - 1) / b * b;
  for (size_t i = 0; i < shape.size(); ++i)
    if (i != 1) items *= shape[i];
  return items;
}

// Calls f(index) for every index of `shape`, in row-major order.
template <class F>
void ForEach(const std::vector<int64_t>& shape, F f) {
  for (int64_t e : shape)
    if (e == 0) return;
  std::vector<int64_t> index(shape.size());
  for (;;) {
    f(index);
    size_t i = shape.size();
    while (i > 0 && ++index[i - 1] == shape[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

// An array of `shape` whose element at `index` is in[source(index)].
template <class F>
Array Gather(Array in, std::vector<int64_t> shape, F source) {
  Array out = Iota(std::move(shape));
  ForEach(out.shape, [&](const auto& x) { out.at(x) = in.at(source(x)); });
  return out;
}

inline size_t Wrap(int64_t axis, size_t rank) {
  return axis < 0 ? static_cast<size_t>(axis) + rank
                  : static_cast<size_t>(axis);
}

inline std::vector<Array> Do(const Transpose& op, const Array& in) {
  std::vector<int64_t> order(op.order.begin(), op.order.end()), shape;
  if (order.empty())
    for (size_t i = in.shape.size(); i-- > 0;)
      order.push_back(static_cast<int64_t>(i));
  for (int64_t a : order) shape.push_back(in.shape[static_cast<size_t>(a)]);
  return {Gather(in, shape, [&](const auto& x) {
    std::vector<int64_t> y(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      y[static_cast<size_t>(order[i])] = x[i];
    return y;
  })};
}

// ShuffleChannels-1: out[k] = in[(k % group) * (C / group) + k / group].
inline std::vector<Array> Do(const ShuffleChannels& op, const Array& in) {
  const size_t a = Wrap(op.axis, in.shape.size());
  const int64_t c = in.shape[a], g = op.group;
  return {Gather(in, in.shape, [&](std::vector<int64_t> x) {
    x[a] = x[a] % g * (c / g) + x[a] / g;
    return x;
  })};
}

inline std::vector<Array> Do(const VariadicSplit& op, const Array& in) {
  const size_t a = Wrap(op.axis, in.shape.size());
  int64_t sum = 0, begin = 0;
  for (int64_t l : op.split_lengths) sum += l == -1 ? 0 : l;
  std::vector<Array> out;
  for (int64_t l : op.split_lengths) {
    if (l == -1) l = in.shape[a] - sum;
    std::vector<int64_t> shape = in.shape;
    shape[a] = l;
    out.push_back(Gather(in, shape, [&](std::vector<int64_t> x) {
      x[a] += begin;
      return x;
    }));
    begin += l;
  }
  return out;
}

inline std::vector<Array> Do(const EqualSplit& op, const Array& in) {
  const size_t a = Wrap(op.axis, in.shape.size());
  VariadicSplit split{op.axis, {}};
  for (int64_t k = 0; k < op.num_splits; ++k)
    split.split_lengths.push_back(in.shape[a] / op.num_splits);
  return Do(split, in);
}

// oneDNN: for c = u + v * (C / G) and c' = u * G + v, forward is
// dst[c] = src[c'], backward diff_src[c'] = diff_dst[c].
inline std::vector<Array> Do(const Shuffle& op, const Array& in) {
  const size_t a = Wrap(op.axis, in.shape.size());
  const int64_t c = in.shape[a], g = op.group_size;
  return {Gather(in, in.shape, [&](std::vector<int64_t> x) {
    const int64_t k = x[a];
    if (op.backward) {
      x[a] = k / g + k % g * (c / g);  // k = c' = u * G + v
    } else {
      x[a] = k % (c / g) * g + k / (c / g);  // k = c = u + v * (C / G)
    }
    return x;
  })};
}

inline std::vector<Array> Apply(const Op& op, const Array& in) {
  return std::visit([&](const auto& o) { return Do(o, in); }, op);
}

}  // namespace axis::reference
