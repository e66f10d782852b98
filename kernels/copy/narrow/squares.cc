#include "kernels/copy/narrow/squares.h"

#include <algorithm>

#include "kernels/copy/block.h"
#include "kernels/copy/byte_copy.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/memory/scratch.h"
#include "kernels/copy/narrow/bits/square_rows.h"
#include "kernels/copy/narrow/sides.h"
#include "kernels/copy/plan/block_plan.h"
#include "kernels/copy/tasks.h"

namespace axis {
namespace {

// Small matrices of one loop, the last, go several at a time, as many as take
// so much scratch. If all of them have fewer elements, and there are more
// loops, that is mostly overhead.
constexpr int64_t kBatchBytes = 64 << 10;
constexpr int64_t kLeastBatch = 4096;

// Rows of fewer bytes are unpacked faster, those of 4-bit elements sooner.
constexpr int64_t LeastRow(int64_t item_bits) { return item_bits == 4 ? 8 : 4; }

}  // namespace

std::optional<Sides> FindSquares(int64_t item_bits, std::span<const Loop> loops,
                                 int64_t from, int64_t to) {
  if (item_bits != 1 && item_bits != 2 && item_bits != 4) return std::nullopt;
  const int64_t items = 8 / item_bits;  // of a byte
  auto is_whole = [&](int64_t n) { return n % items == 0; };
  std::optional<Sides> sides = SidesOf(loops);
  if (!sides || !is_whole(from) || !is_whole(to)) return std::nullopt;
  auto& [a, b, outer] = *sides;
  if (!is_whole(a.extent) || !is_whole(a.src_stride) || !is_whole(b.extent) ||
      !is_whole(b.dst_stride) || b.extent < LeastRow(item_bits) * items)
    return std::nullopt;
  for (const Loop& loop : outer)
    if (!is_whole(loop.src_stride) || !is_whole(loop.dst_stride))
      return std::nullopt;
  if (outer.size() > 1) {
    const int64_t least = kLeastBatch / (a.extent * b.extent);
    if (outer.back().extent < least)
      std::iter_swap(outer.end() - 1,
                     std::max_element(outer.begin(), outer.end(),
                                      [](const Loop& x, const Loop& y) {
                                        return x.extent < y.extent;
                                      }));
    if (outer.back().extent < least) return std::nullopt;
  }
  return sides;
}

void MoveSquares(int64_t item_bits, const Sides& squares, int64_t total_bytes,
                 const uint8_t* src, int64_t from, uint8_t* dst, int64_t to) {
  const auto& [a, b, outer] = squares;
  const int64_t items = 8 / item_bits;
  // In bytes from here on; those of side A are squares high.
  const int64_t row_stride = a.src_stride / items;
  const int64_t column_stride = b.dst_stride / items;
  const int64_t num_a = a.extent / items, num_b = b.extent / items;
  const int64_t block_a = std::min(num_a, BlockSide(item_bits) / items);
  const int64_t block_b = std::min(num_b, BlockSide(item_bits) / items);
  // One more line keeps the rows from evicting each other.
  const int64_t pitch =
      block_b < kLineBytes ? block_b : RoundUpToLine(block_b) + kLineBytes;
  const int64_t block_bytes = block_a * items * pitch;
  const Loop batch = outer.empty() ? Loop{1, 0, 0} : outer.back();
  const std::span<const Loop> others(outer.data(),
                                     outer.size() - !outer.empty());
  const int64_t most = std::max<int64_t>(1, kBatchBytes / block_bytes);
  uint8_t* const scratch = UnpackScratch();
  const Machine machine = MachineFor(total_bytes);
  auto move_blocks = [&](const uint8_t* block_src, int64_t extent_a,
                         int64_t extent_b, int64_t count, uint8_t* block_dst) {
    SquareRows rows;
    rows.count = extent_a, rows.bytes = extent_b;
    for (int64_t i = 0; i < items; ++i) rows.rows[i] = i * row_stride;
    rows.step = items * row_stride;
    rows.result = pitch, rows.pitch = items * pitch;
    for (int64_t k = 0; k < count; ++k)
      TransposeSquareRows(item_bits, rows,
                          block_src + k * batch.src_stride / items,
                          scratch + k * block_bytes);
    ByteCopy copy{1,
                  {{extent_b, 1, items * column_stride},
                   {items, pitch, column_stride},
                   {extent_a, items * pitch, 1},
                   {count, block_bytes, batch.dst_stride / items}}};
    Canonicalize(copy);
    MoveBlocks(PlanBlocks(copy, {}, total_bytes, machine), scratch,
               scratch + count * block_bytes, block_dst);
  };
  ForEach(others, from, to, [&](int64_t s, int64_t d) {
    for (int64_t k = 0; k < batch.extent; k += most)
      for (int64_t i = 0; i < num_a; i += block_a)
        for (int64_t j = 0; j < num_b; j += block_b)
          move_blocks(src + (s + k * batch.src_stride) / items +
                          i * items * row_stride + j,
                      std::min(block_a, num_a - i),
                      std::min(block_b, num_b - j),
                      std::min(most, batch.extent - k),
                      dst + (d + k * batch.dst_stride) / items + i +
                          j * items * column_stride);
  });
}

}  // namespace axis
