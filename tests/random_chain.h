// Random chains of ops, each allowed on what it meets, and what they make of a
// tensor according to the oracle.
#pragma once

#include <utility>
#include <vector>

#include "kernels/ops.h"
#include "tests/kernels/random_copy.h"
#include "tests/reference.h"

namespace axis::testing {

struct Chain {
  std::vector<Op> ops;
  std::vector<reference::Array> outputs;  // items number those of the input
};

inline Op RandomOp(Random& random, const Shape& shape) {
  const size_t rank = shape.size();
  const int64_t axis = random.In(0, static_cast<int64_t>(rank) - 1);
  const int64_t extent = shape[static_cast<size_t>(axis)];
  int64_t group = random.In(1, std::max<int64_t>(1, extent));
  while (extent % group != 0) --group;
  switch (random.In(0, 3)) {
    case 0: {
      const std::vector<int64_t> order = random.Order(rank);
      Transpose op;
      op.order.assign(order.begin(), order.end());
      return op;
    }
    case 1:
      return ShuffleChannels{axis, group};
    case 2:
      return Shuffle{axis, group, random.OneIn(2)};
    default:
      return VariadicSplit{random.OneIn(2) ? 0 : axis,
                           {random.In(0, random.OneIn(2) ? extent : 1), -1}};
  }
}

// Up to 4 ops on a tensor of `shape`, whose extents are at least 1.
inline Chain RandomChain(Random& random, const Shape& shape) {
  Chain chain;
  chain.outputs = {reference::Iota({shape.begin(), shape.end()})};
  for (int64_t steps = random.In(0, 4); steps > 0; --steps) {
    const auto& first = chain.outputs[0].shape;
    const Op op = RandomOp(random, Shape(first.begin(), first.end()));
    bool allowed = chain.outputs.size() < 16;
    for (const auto& tensor : chain.outputs) {
      const Shape s(tensor.shape.begin(), tensor.shape.end());
      allowed = allowed && Validate(op, s).ok();
    }
    if (!allowed) continue;
    std::vector<reference::Array> next;
    for (const auto& tensor : chain.outputs)
      for (auto& output : reference::Apply(op, tensor))
        next.push_back(std::move(output));
    chain.ops.push_back(op);
    chain.outputs = std::move(next);
  }
  return chain;
}

}  // namespace axis::testing
