// A case of the suite: its text form, its outputs, and their expected bytes.
//
// Knows nothing of the engine: pieces and expectations follow from the
// definitions of the ops, so that the engine is checked, not echoed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace axis::bench {

using Dims = std::vector<int64_t>;

// The product of `dims`; 1 if there are none.
int64_t Product(const Dims& dims);

// One output: a strided read of the source, written densely; where channels
// are in blocks that is none, and `dims` just its size.
struct Piece {
  Dims dims;               // of the output; a shuffled axis counts as two
  Dims src_strides;        // in elements, one for each of `dims`
  int64_t src_offset = 0;  // in elements
  int64_t dst_offset = 0;  // in bytes; a multiple of 64
  int64_t bytes = 0;
};

struct Case {
  std::string op;  // "Transpose", "ShuffleChannels", "VariadicSplit", "Shuffle"
  int64_t item_bits = 0;
  Dims shape;
  Dims perm;     // of a Transpose
  Dims lengths;  // of a VariadicSplit
  size_t axis = 0;
  int64_t group = 0;  // of a ShuffleChannels or a Shuffle, which is of axis 1
  int64_t block = 1;  // channels of a Shuffle that lie together; 0: all
  int64_t src_bytes = 0;
  std::vector<Piece> pieces;
};

// Reads "OP BITS SHAPE PERM", "... AXIS GROUP", "... AXIS LENGTHS" or, of a
// Shuffle, "... GROUP LAYOUT", lists being comma-separated. A layout is called
// as in oneDNN: nchw, nhwc, nChw16c. Throws std::invalid_argument.
Case ReadCase(std::istream& in);

// The bytes of one output of `c`, found element by element.
std::vector<std::byte> Expected(const Case& c, const Piece& piece,
                                const std::byte* src);

}  // namespace axis::bench
