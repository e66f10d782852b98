// Rows of squares: as many rows of 1-, 2- or 4-bit elements as a byte has
// elements, transposed without unpacking them, whichever bits they begin at.
#pragma once

#include <array>
#include <cstdint>

namespace axis {

// Rows of squares, one after the other. The elements of a row whose place among
// those of a byte is k make up result k of its squares: a byte for every byte
// of the row, of an element of each row.
struct SquareRows {
  static constexpr int kMostRows = 8;

  int64_t count;
  int64_t bytes;  // of a row, were its first element the first of a byte

  // The byte of the first element of each row of the first squares, and where
  // in it that is, in bits. As many rows on it is the same place, `step` bytes
  // on.
  std::array<int64_t, kMostRows> rows;
  std::array<int, kMostRows> from = {};
  int64_t step;

  // Where in its byte the first element of each result goes, in bits. What
  // comes before it in that byte is of the last rows of the squares before.
  std::array<int, kMostRows> to = {};
  int64_t result;  // from a result to the next one of the squares, in bytes
  int64_t pitch;   // and to that of the next squares

  // Zeros, or what an earlier call left here: kMostRows * (`bytes` + kSlack)
  // bytes of the last squares. May be null if all of `to` are 0.
  static constexpr int64_t kSlack = 64;
  uint8_t* last = nullptr;
};

// Transposes them. Unless all of `from` are 0, reads a byte more of each row.
void TransposeSquareRows(int64_t item_bits, const SquareRows& squares,
                         const uint8_t* src, uint8_t* dst);

}  // namespace axis
