#include "kernels/copy/narrow/skewed.h"

#include <algorithm>

#include "kernels/copy/block.h"
#include "kernels/copy/memory/scratch.h"
#include "kernels/copy/narrow/shift.h"
#include "kernels/copy/narrow/sides.h"
#include "kernels/copy/narrow/squares.h"

namespace axis {
namespace {

// Shorter rows cost more to begin than to unpack.
constexpr int64_t kLeastRow = 96;

// So do those of matrices that caches hold unpacked, or with a shorter side.
constexpr int64_t kLeastSide = 192;
constexpr int64_t kLeastMatrix = 128 << 10;

// The scratch memory of a block: what MoveSquares() needs, its source and its
// destination.
constexpr int64_t kPartBytes = 2 * kUnpackedBytes / 3;

// The side of a block, in elements.
constexpr int64_t SideOf(int64_t item_bits) {
  return item_bits == 1 ? 1024 : item_bits == 2 ? 768 : 512;
}

// One more line keeps the rows from evicting each other.
constexpr int64_t PitchOf(int64_t bytes) {
  return RoundUpToLine(bytes) + kLineBytes;
}

constexpr bool Fits(int64_t item_bits) {
  const int64_t side = SideOf(item_bits);
  return side * PitchOf(side * item_bits / 8) <= kPartBytes;
}
static_assert(Fits(1) && Fits(2) && Fits(4));

int64_t RoundUp(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

}  // namespace

std::optional<Sides> FindSkewed(int64_t item_bits,
                                std::span<const Loop> loops) {
  if (item_bits != 1 && item_bits != 2 && item_bits != 4) return std::nullopt;
  std::optional<Sides> sides = SidesOf(loops);
  if (!sides) return std::nullopt;
  const int64_t a = sides->a.extent, b = sides->b.extent;
  const bool pays = sides->are_rows()
                        ? a >= kLeastRow
                        : std::min(a, b) >= kLeastSide && a * b >= kLeastMatrix;
  return pays ? sides : std::nullopt;
}

void MoveSkewed(int64_t item_bits, const Sides& sides, const uint8_t* src,
                int64_t from, uint8_t* dst, int64_t to) {
  const auto& [a, b, outer] = sides;
  if (sides.are_rows()) {
    // Rows of the last loop at once.
    const Loop rows = outer.empty() ? Loop{1, 0, 0} : outer.back();
    const std::span<const Loop> others(outer.data(),
                                       outer.size() - !outer.empty());
    return ForEach(others, from, to, [&](int64_t s, int64_t d) {
      ShiftRows(item_bits,
                {a.extent, rows.extent, s, rows.src_stride, d, rows.dst_stride},
                src, dst);
    });
  }
  const int64_t items = 8 / item_bits;  // of a byte
  // Of the same size, or the last would be mostly overhead.
  const auto side_of = [&](int64_t extent) {
    const int64_t blocks = (extent - 1) / SideOf(item_bits) + 1;
    return RoundUp((extent - 1) / blocks + 1, items);
  };
  const int64_t side_a = side_of(a.extent), side_b = side_of(b.extent);
  uint8_t* const rows = UnpackScratch() + kPartBytes;
  uint8_t* const columns = rows + kPartBytes;
  ForEach(outer, from, to, [&](int64_t s, int64_t d) {
    for (int64_t i = 0; i < a.extent; i += side_a) {
      const int64_t extent_a = std::min(side_a, a.extent - i);
      for (int64_t j = 0; j < b.extent; j += side_b) {
        const int64_t extent_b = std::min(side_b, b.extent - j);
        // What is past the extents is whatever was there, and stays here.
        const int64_t whole_a = RoundUp(extent_a, items);
        const int64_t whole_b = RoundUp(extent_b, items);
        const int64_t row_items = PitchOf(whole_b / items) * items;
        const int64_t column_items = PitchOf(whole_a / items) * items;
        ShiftRows(item_bits,
                  {extent_b, extent_a, s + i * a.src_stride + j, a.src_stride,
                   0, row_items},
                  src, rows);
        MoveSquares(item_bits,
                    {{whole_a, row_items, 1}, {whole_b, 1, column_items}, {}},
                    whole_a * whole_b / items, rows, 0, columns, 0);
        ShiftRows(item_bits,
                  {extent_a, extent_b, 0, column_items,
                   d + i + j * b.dst_stride, b.dst_stride},
                  columns, dst);
      }
    }
  });
}

}  // namespace axis
