#include "kernels/copy/narrow/skewed.h"

#include <algorithm>
#include <cstring>

#include "kernels/copy/block.h"
#include "kernels/copy/byte_copy.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/memory/scratch.h"
#include "kernels/copy/narrow/bits/bit_order.h"
#include "kernels/copy/narrow/bits/shift.h"
#include "kernels/copy/narrow/bits/square_rows.h"
#include "kernels/copy/narrow/sides.h"
#include "kernels/copy/plan/block_plan.h"

namespace axis {
namespace {

// Shorter rows cost more to begin than to unpack.
constexpr int64_t kLeastRow = 96;

// So do those of matrices with a shorter side, or with fewer elements.
constexpr int64_t kLeastSide = 64;
constexpr int64_t LeastMatrix(int64_t item_bits) {
  return (48 << 10) / item_bits;
}

// One more line keeps the rows from evicting each other.
constexpr int64_t PitchOf(int64_t bytes) {
  return RoundUpToLine(bytes) + kLineBytes;
}

// Where the blocks of a matrix are in the scratch memory.
struct Layout {
  constexpr Layout(int64_t item_bits, int64_t row_bytes,
                   int64_t num_square_rows)
      : pitch(PitchOf(row_bytes)),
        result(num_square_rows * pitch),
        last_rows(SquareRows::kMostRows * (row_bytes + SquareRows::kSlack)),
        results(last_rows + 16 / item_bits * pitch),
        end(results + 8 / item_bits * result) {}

  int64_t pitch;
  int64_t result;
  int64_t last_rows;  // of the last squares, and those of zeros
  int64_t results;
  int64_t end;
};

// A block has a row of squares more on either side.
constexpr bool Fits(int64_t item_bits) {
  const int64_t bytes = BlockSide(item_bits) * item_bits / 8;
  return Layout(item_bits, bytes, bytes + 2).end <= 2 * kUnpackedBytes;
}
static_assert(Fits(1) && Fits(2) && Fits(4));

// The bits of a byte from bit `bit` on, in the order of its elements.
uint8_t BitsFrom(int64_t item_bits, int64_t bit) {
  const int bits = static_cast<int>(bit);
  return item_bits == 4 ? Later<false>(0xff, bits) : Later<true>(0xff, bits);
}

// Writes the bits of `mask` of `count` bytes, `stride` bytes apart.
void Merge(const uint8_t* src, int64_t count, unsigned mask, uint8_t* dst,
           int64_t stride) {
  for (int64_t i = 0; i < count; ++i, dst += stride)
    *dst = static_cast<uint8_t>((*dst & ~mask) | (src[i] & mask));
}

// A copy of one matrix, whose rows are those of the source.
class MatrixCopy {
 public:
  // From element `from` of `src` to element `to` of `dst`.
  MatrixCopy(int64_t item_bits, const Loop& rows, const Loop& columns,
             const uint8_t* src, int64_t from, uint8_t* dst, int64_t to)
      : bits_(item_bits),
        items_(8 / item_bits),
        rows_(rows),
        columns_(columns),
        src_(src),
        from_(from),
        dst_(dst),
        to_(to) {}

  void Move() const {
    ForEachBlock(rows_.extent, [&](Range rows) {
      ForEachBlock(columns_.extent,
                   [&](Range columns) { MoveBlock(rows, columns); });
    });
  }

 private:
  struct Range {
    int64_t begin, extent;
  };

  // Calls f for ranges of a side, all of which but the last end with a byte. Of
  // the same size, or the last would be mostly overhead.
  template <class F>
  void ForEachBlock(int64_t extent, F f) const {
    const int64_t blocks = (extent - 1) / BlockSide(bits_) + 1;
    for (int64_t k = 1, begin = 0, end; k <= blocks; ++k, begin = end) {
      end = extent / blocks * k + extent % blocks * k / blocks;
      end = std::min(RoundUp(end), extent);
      f(Range{begin, end - begin});
    }
  }

  int64_t RoundUp(int64_t n) const {
    return (n + items_ - 1) / items_ * items_;
  }

  // Blocks begin with whole bytes of a row that begins with one. A byte of the
  // destination that has elements of two blocks is the second one's, which
  // therefore has the last squares of the first one, too.
  void MoveBlock(Range rows, Range columns) const {
    const int64_t shared = rows.begin == 0 ? 0 : 1;
    const bool is_last = rows.begin + rows.extent == rows_.extent;
    const int64_t first = rows.begin - shared * items_;
    const int64_t bytes = RoundUp(columns.extent) / items_;
    const int64_t num_square_rows =
        shared + RoundUp(rows.extent) / items_ + is_last;
    const Layout layout(bits_, bytes, num_square_rows);

    SquareRows squares;
    squares.bytes = bytes;
    squares.result = layout.result, squares.pitch = layout.pitch;
    squares.last = UnpackScratch();
    std::memset(squares.last, 0, static_cast<size_t>(layout.last_rows));
    uint8_t* const results = squares.last + layout.results;
    const int64_t from =
        (from_ + first * rows_.src_stride + columns.begin) * bits_;
    for (int64_t k = 0; k < items_; ++k) {
      const int64_t bit = from + k * rows_.src_stride * bits_;
      squares.rows[k] = bit / 8, squares.from[k] = static_cast<int>(bit % 8);
      squares.to[k] = static_cast<int>(DstBit(columns.begin + k) % 8);
    }
    squares.step = rows_.src_stride;
    // Whose rows all have one after them, of which a byte may be read.
    squares.count =
        std::min(num_square_rows, (rows_.extent - 1 - first) / items_);
    TransposeSquareRows(bits_, squares, src_, results);
    if (is_last) {
      const uint8_t* const src = src_ + squares.count * squares.step;
      uint8_t* const last_rows = squares.last + layout.last_rows;
      std::memset(last_rows, 0, static_cast<size_t>(2 * items_ * layout.pitch));
      const int64_t num_rows = rows_.extent - first - squares.count * items_;
      for (int64_t k = 0; k < num_rows; ++k) {
        const int64_t bits = squares.from[k] + columns.extent * bits_;
        std::memcpy(last_rows + k * layout.pitch, src + squares.rows[k],
                    static_cast<size_t>((bits + 7) / 8));
      }
      for (int64_t k = 0; k < items_; ++k) squares.rows[k] = k * layout.pitch;
      uint8_t* const rest = results + squares.count * layout.pitch;
      squares.count = 2, squares.step = items_ * layout.pitch;
      TransposeSquareRows(bits_, squares, last_rows, rest);
    }
    for (int64_t k = 0; k < std::min(items_, columns.extent); ++k)
      MoveResult(rows,
                 {columns.begin + k, (columns.extent - k - 1) / items_ + 1},
                 results + k * layout.result + shared * layout.pitch,
                 layout.pitch, is_last);
  }

  // Columns of the source whose place in a byte is the same, of which `src` has
  // a byte each for every byte of those of the destination.
  void MoveResult(Range rows, Range columns, const uint8_t* src, int64_t pitch,
                  bool is_last) const {
    const int64_t to = DstBit(columns.begin) + rows.begin * bits_;
    const int64_t end_bit = to % 8 + rows.extent * bits_;
    // The first byte is shared with others if there are no squares before it.
    const bool merges = rows.begin == 0 && to % 8 != 0;
    const int64_t begin = merges, end = end_bit / 8;
    const int64_t stride = columns_.dst_stride;
    uint8_t* const dst = dst_ + to / 8;
    if (merges)
      Merge(src, columns.extent, BitsFrom(bits_, to % 8), dst, stride);
    ByteCopy copy{1, {{columns.extent, 1, stride}, {end - begin, pitch, 1}}};
    const int64_t bytes = BytesOf(copy);
    Canonicalize(copy);
    MoveBlocks(PlanBlocks(copy, {}, bytes, ThisMachine()), src + begin * pitch,
               src + end * pitch, dst + begin);
    if (is_last && end_bit % 8 != 0)
      Merge(src + end * pitch, columns.extent,
            0xffu & ~BitsFrom(bits_, end_bit % 8), dst + end, stride);
  }

  // Where in the destination column `j` begins.
  int64_t DstBit(int64_t j) const {
    return (to_ + j * columns_.dst_stride) * bits_;
  }

  const int64_t bits_;
  const int64_t items_;  // of a byte
  const Loop rows_, columns_;
  const uint8_t* const src_;
  const int64_t from_;
  uint8_t* const dst_;
  const int64_t to_;
};

}  // namespace

std::optional<Sides> FindSkewed(int64_t item_bits,
                                std::span<const Loop> loops) {
  if (item_bits != 1 && item_bits != 2 && item_bits != 4) return std::nullopt;
  std::optional<Sides> sides = SidesOf(loops);
  if (!sides) return std::nullopt;
  const int64_t a = sides->a.extent, b = sides->b.extent;
  // Rows that have elements in common may end with the source.
  const bool pays = sides->are_rows() ? a >= kLeastRow
                                      : std::min(a, b) >= kLeastSide &&
                                            a * b >= LeastMatrix(item_bits) &&
                                            sides->a.src_stride >= b;
  return pays ? sides : std::nullopt;
}

void MoveSkewed(int64_t item_bits, const Sides& sides, const uint8_t* src,
                int64_t from, uint8_t* dst, int64_t to) {
  const std::span<const Loop> outer = sides.outer;
  if (!sides.are_rows())
    return ForEach(outer, from, to, [&](int64_t s, int64_t d) {
      MatrixCopy(item_bits, sides.a, sides.b, src, s, dst, d).Move();
    });
  // Rows of the last loop at once.
  const Loop rows = outer.empty() ? Loop{1, 0, 0} : outer.back();
  const auto others = outer.first(outer.size() - !outer.empty());
  ForEach(others, from, to, [&](int64_t s, int64_t d) {
    ShiftRows(
        item_bits,
        {sides.a.extent, rows.extent, s, rows.src_stride, d, rows.dst_stride},
        src, dst);
  });
}

}  // namespace axis
