// Blocks: the arguments of a kernel, and how a block plan is carried out.
#pragma once

#include <cstdint>

#include "kernels/copy/plan/block_plan.h"

namespace axis {

inline constexpr int64_t kLineBytes = 64;

// Runs so long the C library copies as fast, and may know better.
inline constexpr int64_t kLibraryRun = 8192;

constexpr int64_t RoundUpToLine(int64_t bytes) {
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

// How far into a line.
inline int64_t PlaceInLine(const uint8_t* at) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(at) % kLineBytes);
}

inline bool IsAtLine(const uint8_t* at) { return PlaceInLine(at) == 0; }

// Moves item (a, b) of repetition t
//   from  src + t * batch.src_stride + rows[a] + b * b_step
//   to    dst + t * batch.dst_stride + columns[b] + a * a_step.
struct Block {
  int64_t item;
  const uint8_t* src;
  const uint8_t* src_end;  // of the buffer: never to be read from there on
  uint8_t* dst;
  int64_t num_a, num_b;
  int64_t a_step, b_step;
  const int64_t* rows;
  const int64_t* columns;
  // If not 0, rows follow one another row_step apart, and columns column_step:
  // kernels that do so much for an item that it pays need not look them up.
  int64_t row_step, column_step;
  bool packed;        // columns[b] == b * num_a * item
  int64_t together;   // so many columns are, from each such multiple of b on
  bool stream;        // past the caches
  bool begins, ends;  // its runs are the first of their columns, or the last
  int64_t again;      // so many items of side A were moved by the block before
  Square squares;     // of lines of rows, if any: num_b has one or more
  bool pairs;         // lines are streamed two of a column at a time
  bool realigns;  // columns that begin within lines are streamed in whole ones
  bool few_rows;  // are read side by side, though lines then take two strips
  bool by_rows;   // items are moved in the order of the source
  // Lines of so many columns are written side by side: a multiple of a piece.
  int64_t breadth;
  Loop batch;
};

// Whether all repetitions of `block` start at a multiple of `bytes`, a power of
// two, in the destination.
inline bool StartsAt(const Block& block, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(block.dst) %
                 static_cast<uintptr_t>(bytes) ==
             0 &&
         (block.batch.extent == 1 || block.batch.dst_stride % bytes == 0);
}

inline bool StartsAtLines(const Block& block) {
  return StartsAt(block, kLineBytes);
}

// Whether all columns of `block` start at a multiple of `bytes`.
inline bool ColumnsStartAt(const Block& block, int64_t bytes) {
  if (!StartsAt(block, bytes)) return false;
  if (block.column_step != 0)
    return (block.columns[0] | block.column_step) % bytes == 0;
  int64_t bits = 0;
  for (int64_t b = 0; b < block.num_b; ++b) bits |= block.columns[b];
  return bits % bytes == 0;
}

// Whether all columns of `block` start at a line.
inline bool AreLines(const Block& block) {
  return ColumnsStartAt(block, kLineBytes);
}

// The lanes of vectors that items of so many bytes are moved in; a power of
// two.
constexpr int64_t LaneBytes(int64_t item) { return item < 8 ? item : 8; }

// Whether no item of `block` crosses a line in parts of its lanes.
inline bool AreAligned(const Block& block) {
  return ColumnsStartAt(block, LaneBytes(block.item));
}

// Columns at most this long, and packed in the destination, are written as
// whole vectors that spill over into the next.
inline constexpr int64_t kSpillRun = 32;

// Rows at most this long have so few columns that to begin a strip takes longer
// than to transpose it.
inline constexpr int64_t kFewBytes = 128;

// Short columns that lie apart are put together before, so much of them at a
// time.
inline constexpr int64_t kApartBytes = 4096;

// Whether `num_a` x `num_b` items that are packed in the destination go through
// a few vectors as a whole.
constexpr bool FitsVectors(int64_t num_a, int64_t num_b, int64_t item) {
  const int64_t span = num_a * num_b * item;
  return item < 16 && (num_a & (num_a - 1)) == 0 &&
         (num_b & (num_b - 1)) == 0 && 32 <= span && span <= 128;
}

// Carries out `plan`. Reads only from [src, src_end), and writes only what the
// plan says; what it streams is visible to other threads when it returns.
void MoveBlocks(const BlockPlan& plan, const uint8_t* src,
                const uint8_t* src_end, uint8_t* dst);

}  // namespace axis
