// Shifting: rows of 1-, 2- and 4-bit elements from where they begin in a byte
// to where they are to begin in another.
#pragma once

#include <cstdint>

namespace axis {

// `count` rows of `items` elements each, `src_stride` elements apart from
// element `from` of `src` on, to element `to` of `dst`, `dst_stride` apart.
struct ShiftedRows {
  int64_t items;
  int64_t count;
  int64_t from, src_stride;
  int64_t to, dst_stride;
};

// Copies them. Reads nothing but the bytes that their elements share, and keeps
// the other elements of the bytes that it writes.
void ShiftRows(int64_t item_bits, const ShiftedRows& rows, const uint8_t* src,
               uint8_t* dst);

}  // namespace axis
