#include "tests/bench/case.h"

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

// Derives the pieces of `c` from what its op is defined to do.
void AddPieces(Case& c) {
  Dims strides(c.shape.size());
  int64_t stride = 1;
  for (size_t i = c.shape.size(); i-- > 0; stride *= c.shape[i])
    strides[i] = stride;
  if (c.op == "Transpose") {
    Piece piece;
    for (int64_t i : c.perm) {
      piece.dims.push_back(c.shape[static_cast<size_t>(i)]);
      piece.src_strides.push_back(strides[static_cast<size_t>(i)]);
    }
    c.pieces = {piece};
  } else if (c.op == "ShuffleChannels") {
    // out[j * group + i] = in[i * (C / group) + j]
    Piece piece{c.shape, strides};
    const auto at = static_cast<ptrdiff_t>(c.axis);
    const int64_t rest = c.shape[c.axis] / c.group;
    piece.dims[c.axis] = rest;
    piece.dims.insert(piece.dims.begin() + at + 1, c.group);
    piece.src_strides.insert(piece.src_strides.begin() + at + 1,
                             rest * strides[c.axis]);
    c.pieces = {piece};
  } else {
    int64_t begin = 0;
    for (int64_t length : c.lengths) {
      Piece piece{c.shape, strides, begin * strides[c.axis]};
      piece.dims[c.axis] = length;
      c.pieces.push_back(piece);
      begin += length;
    }
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
  } else if (c.op == "VariadicSplit") {
    in >> c.axis;
    c.lengths = ReadDims(in);
  } else {
    throw std::invalid_argument("unknown op " + c.op);
  }
  c.src_bytes = Bytes(Product(c.shape), c.item_bits);
  AddPieces(c);
  return c;
}

std::vector<std::byte> Expected(const Case& c, const Piece& piece,
                                const std::byte* src) {
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
