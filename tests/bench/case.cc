#include "tests/bench/case.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace axis::bench {
namespace {

int64_t Bytes(int64_t items, int64_t item_bits) {
  return (items * item_bits + 7) / 8;
}

Dims ReadDims(std::istream& in) {
  std::string list, number;
  in >> list;
  Dims dims;
  for (std::istringstream items(list); std::getline(items, number, ',');)
    dims.push_back(std::stoll(number));
  return dims;
}

// The block of a layout: 1 of nchw, 0 of nhwc, 16 of nChw16c.
int64_t ReadBlock(std::istream& in) {
  std::string layout;
  in >> layout;
  if (layout == "nchw") return 1;
  if (layout == "nhwc") return 0;
  if (layout.starts_with("nChw")) return std::stoll(layout.substr(4));
  throw std::invalid_argument("unknown layout " + layout);
}

// Where the elements of a tensor lie whose channels are in blocks.
class Blocks {
 public:
  explicit Blocks(const Case& c)
      : batch_(c.shape[0]),
        block_(c.block),
        blocks_((c.shape[1] + block_ - 1) / block_),
        positions_(Product(c.shape) / batch_ / c.shape[1]) {}

  int64_t Size() const { return batch_ * blocks_ * positions_ * block_; }
  int64_t At(int64_t n, int64_t channel, int64_t position) const {
    return ((n * blocks_ + channel / block_) * positions_ + position) * block_ +
           channel % block_;
  }
  int64_t positions() const { return positions_; }

 private:
  int64_t batch_, block_, blocks_, positions_;
};

// Derives the pieces of `c` from what its op is defined to do.
void AddPieces(Case& c) {
  Dims shape = c.shape;
  size_t axis = c.axis;
  if (c.block == 0) {  // as it lies in memory
    std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
    axis = shape.size() - 1;
  }
  Dims strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    strides[i] = stride;
  if (c.op == "Transpose") {
    Piece piece;
    for (int64_t i : c.perm) {
      piece.dims.push_back(shape[static_cast<size_t>(i)]);
      piece.src_strides.push_back(strides[static_cast<size_t>(i)]);
    }
    c.pieces = {piece};
  } else if (c.op == "VariadicSplit") {
    int64_t begin = 0;
    for (int64_t length : c.lengths) {
      Piece piece{shape, strides, begin * strides[axis]};
      piece.dims[axis] = length;
      c.pieces.push_back(piece);
      begin += length;
    }
  } else if (c.block > 1) {
    c.pieces = {{{Blocks(c).Size()}, {}}};
  } else {
    // out[j * group + i] = in[i * (C / group) + j]
    Piece piece{shape, strides};
    const auto at = static_cast<ptrdiff_t>(axis);
    const int64_t rest = shape[axis] / c.group;
    piece.dims[axis] = rest;
    piece.dims.insert(piece.dims.begin() + at + 1, c.group);
    piece.src_strides.insert(piece.src_strides.begin() + at + 1,
                             rest * strides[axis]);
    c.pieces = {piece};
  }
  int64_t offset = 0;
  for (Piece& piece : c.pieces) {
    piece.bytes = Bytes(Product(piece.dims), c.item_bits);
    piece.dst_offset = offset;
    offset = (offset + piece.bytes + 63) / 64 * 64;
  }
}

// Copies element `from` of `src` to element `to` of `dst`, which is zero yet.
void MoveItem(int64_t bits, const std::byte* src, int64_t from, std::byte* dst,
              int64_t to) {
  if (bits % 8 == 0) {
    std::memcpy(dst + to * bits / 8, src + from * bits / 8,
                static_cast<size_t>(bits / 8));
    return;
  }
  // OpenVINO's order: 4 bits fill a byte from its low end, fewer from its high.
  const auto shift = [bits](int64_t i) {
    const int64_t at = i * bits % 8;
    return bits == 4 ? at : 8 - bits - at;
  };
  const auto value =
      src[from * bits / 8] >> shift(from) & std::byte((1 << bits) - 1);
  dst[to * bits / 8] |= value << shift(to);
}

// out[j * group + i] = in[i * (C / group) + j] of the channels; padding is 0.
std::vector<std::byte> Shuffled(const Case& c, const std::byte* src) {
  const Blocks blocks(c);
  std::vector<std::byte> out(static_cast<size_t>(c.src_bytes));
  const int64_t rest = c.shape[1] / c.group;
  for (int64_t n = 0; n < c.shape[0]; ++n)
    for (int64_t i = 0; i < c.group; ++i)
      for (int64_t j = 0; j < rest; ++j)
        for (int64_t s = 0; s < blocks.positions(); ++s)
          MoveItem(c.item_bits, src, blocks.At(n, i * rest + j, s), out.data(),
                   blocks.At(n, j * c.group + i, s));
  return out;
}

}  // namespace

int64_t Product(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1},
                         std::multiplies<>());
}

Case ReadCase(std::istream& in) {
  Case c;
  in >> c.op >> c.item_bits;
  c.shape = ReadDims(in);
  if (c.op == "Transpose") {
    c.perm = ReadDims(in);
  } else if (c.op == "ShuffleChannels") {
    in >> c.axis >> c.group;
  } else if (c.op == "Shuffle") {
    c.axis = 1;
    in >> c.group;
    c.block = ReadBlock(in);
  } else if (c.op == "VariadicSplit") {
    in >> c.axis;
    c.lengths = ReadDims(in);
  } else {
    throw std::invalid_argument("unknown op " + c.op);
  }
  const int64_t items = c.block > 1 ? Blocks(c).Size() : Product(c.shape);
  c.src_bytes = Bytes(items, c.item_bits);
  AddPieces(c);
  return c;
}

std::vector<std::byte> Expected(const Case& c, const Piece& piece,
                                const std::byte* src) {
  if (c.block > 1) return Shuffled(c, src);
  std::vector<std::byte> out(static_cast<size_t>(piece.bytes));
  Dims index(piece.dims.size());
  int64_t from = piece.src_offset;
  const int64_t count = Product(piece.dims);
  for (int64_t to = 0; to < count; ++to) {
    MoveItem(c.item_bits, src, from, out.data(), to);
    for (size_t i = index.size(); i-- > 0;) {
      from += piece.src_strides[i];
      if (++index[i] < piece.dims[i]) break;
      from -= index[i] * piece.src_strides[i];
      index[i] = 0;
    }
  }
  return out;
}

}  // namespace axis::bench
