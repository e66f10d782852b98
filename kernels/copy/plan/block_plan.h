// Block plans: how the engine carries out one byte copy on this machine.
//
// Every copy is seen as a two-dimensional one, repeated. Side A counts the
// items that are neighbours in the destination, side B those that are
// neighbours in the source; where the two differ, a copy is a transposition
// of A x B items. Both are cut into blocks that fit the caches.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "absl/container/inlined_vector.h"
#include "kernels/copy/byte_copy.h"
#include "kernels/copy/machine.h"

namespace axis {

// What moves the items of a block.
enum class Kernel : uint8_t {
  kRows,          // any item: one short copy each
  kTranspose,     // items of 1, 2, 4, 8 or 16 bytes, through registers
  kInterleave,    // A of 2 to 4 items, the blocks of A packed
  kDeinterleave,  // B of 2 to 4 items, the blocks of B packed
  kShuffle,       // the bytes of each run of `item` change places
  kCompact,       // short items that lie apart, to follow one another
};

// How lines of rows are read where they are transposed whole.
enum class Square : uint8_t {
  kNone,     // they are not: a piece of each row, down to the end of a column
  kWhole,    // once: all of the work is done in registers
  kByPiece,  // piece by piece, right after one another: that takes fewer
             // shuffles, if the lines stay in the first cache meanwhile
};

// Whether registers transpose items of so many bytes.
constexpr bool IsTransposable(int64_t item) {
  return item <= 16 && (item & (item - 1)) == 0;
}

// Whether they do as if items were of 4 or 8 bytes.
constexpr bool IsPadded(int64_t item) {
  return item < 8 && !IsTransposable(item);
}

// The longest run that kShuffle is for.
inline constexpr int64_t kMaxShuffle = 256;

// How many bytes it moves at a time: all the runs that a vector of 64 holds.
constexpr int64_t ShuffleStep(int64_t run) {
  return run < 64 ? 64 / run * run : run;
}

// The longest items that kCompact is for.
inline constexpr int64_t kCompactItem = 16;

// The most offsets a block has along one side.
inline constexpr int64_t kMaxOffsets = 1024;

// So many rows are interleaved, or columns taken apart, at most.
inline constexpr int64_t kMostInterleaved = 4;

// So many rows are moved item by item of each in turn, at most.
inline constexpr int64_t kMostSideBySide = 8;

// One side of the blocks: the row-major product of `loops`, innermost first.
struct Side {
  int64_t extent = 1;  // items
  int64_t block = 1;   // items in a block
  // How far apart neighbours are, in bytes: in the destination for side A, in
  // the source for side B. The item if there is more than one loop.
  int64_t step = 0;
  int num_loops = 0;
  std::array<Loop, 10> loops;  // 10: as many as kMaxOffsets has factors
};

// Whether repetitions of a block are moved as one, by way of scratch.
enum class Together : uint8_t {
  kNone,
  kFirst,  // have no gaps in the source: they are brought together there
  kLast,   // have none in the destination: they are put apart from there
};

struct BlockPlan {
  Kernel kernel = Kernel::kRows;
  // Writes to the destination past the caches.
  bool stream = false;
  // Reads a block to scratch first: its rows would evict each other.
  bool fetch = false;
  Together together = Together::kNone;
  // Writes a block to scratch first, then to the destination in long runs.
  bool stage = false;
  // Carries what scratch has of a line to the next block of the same columns,
  // so that only their first and last lines are written in parts.
  bool carry = false;
  // Need not go by way of scratch if the destination starts at a line: then so
  // do all the runs that are written to it.
  bool lines = false;
  // What begins within lines is put together, columns of transpositions from
  // strip to strip, all else as it comes: so that it is streamed in whole lines
  // and need not go by way of scratch.
  bool realigns = false;
  // Rows compete: of no more than the first cache has places for is a piece
  // read at a time, or each of their lines is fetched anew for every piece. Of
  // what is written in lines at once that gains nothing.
  bool few_rows = false;
  // What is interleaved or taken apart is short: repetitions are looked up one
  // by one, each as a whole.
  bool tiles = false;
  // Items are moved row by row, in the order of the source.
  bool by_rows = false;
  // Lines of the rows are best read whole, too, where instructions do that.
  Square squares = Square::kNone;
  // Lines are streamed two of a column at a time.
  bool pairs = false;
  // Where lines are written whole, in cache or past it, so many columns are
  // written side by side, several lines of each.
  int64_t breadth = kMaxOffsets;
  // How many rows of side A ahead the source is prefetched; 0 if it is not.
  int64_t lead = 0;
  int64_t item = 0;
  Side a;
  Side b;
  // If not empty, where each item of side B goes, instead of its loops.
  std::span<const int64_t> columns;
  // Blocks repeat along `batch`, `batch_block` of them at a time.
  Loop batch = {1, 0, 0};
  int64_t batch_block = 1;
  absl::InlinedVector<Loop, 8> outer;
  std::array<uint8_t, kMaxShuffle> shuffle;  // where a step's bytes come from
};

// Whether kCompact is for `copy`: short items that follow one another in the
// destination, a line of them or more, and lie close together in the source, as
// the channels do of which a split takes some.
bool IsCompact(const ByteCopy& copy);

// Plans `copy`, which is part of an operation that writes `total_bytes`: what
// is worth keeping in cache depends on the whole of it.
//
// If there are `columns`, each item of `copy` is followed in the source by
// items for other destinations: the i-th goes columns[i] bytes after the first.
// REQUIRES: `copy` is canonical; columns.size() != 1, and <= kMaxOffsets.
//           The plan refers to `columns`.
BlockPlan PlanBlocks(const ByteCopy& copy, std::span<const int64_t> columns,
                     int64_t total_bytes, const Machine& machine);

// Whether `few` rows of `many` items, all of them next to each other, are
// interleaved by whole vectors, or so few columns taken apart.
bool AreInterleaved(int64_t item, int64_t few, int64_t many);

// Whether `few` columns of items that registers transpose only if padded are
// better taken apart each by itself, if they are long.
bool AreTakenApart(int64_t item, int64_t few, const Machine& machine);

// Plans the transposition of a matrix without gaps, `num_b` columns of `num_a`
// items in the destination. The plan refers to nothing.
// REQUIRES: IsTransposable(item); AreInterleaved(), or both extents are more
//           than kMostInterleaved and at most kMaxOffsets; the first cache
//           holds both sides.
BlockPlan PlanMatrix(int64_t item, int64_t num_a, int64_t num_b);

}  // namespace axis
