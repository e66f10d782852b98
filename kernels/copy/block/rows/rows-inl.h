// Moving blocks item by item, per SIMD target. Included once for each target.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/prefetch.h"
#include "kernels/copy/block/runs-inl.h"

#if defined(AXIS_BLOCK_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_ROWS_INL_H_
#undef AXIS_BLOCK_ROWS_INL_H_
#else
#define AXIS_BLOCK_ROWS_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

// The bytes that are moved for each item if whatever goes beyond it is then
// overwritten by the next: a power of two. 0 if that must not be. What is read
// beyond an item is the next one's of the source: no item of a block lies
// beyond its last one, which is moved by itself.
HWY_INLINE int64_t SpillBytes(const Block& block) {
  const int64_t item = block.item;
  if (item > kVectorBytes || block.a_step != item || block.num_a < 2) return 0;
  const auto bytes =
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(item)));
  return bytes == item ? 0 : bytes;
}

// Moves kRows rows of a block; where they begin is kept in registers. Looking
// it up would take up to four times as long, most likely because such a load
// waits for stores on their way to the same place of any other page. And each
// row is read by loads of its own, so that the machine foresees its lines.
template <int64_t kRows, class Copy>
HWY_INLINE void MoveFewRows(const uint8_t* src, uint8_t* dst, int64_t num_b,
                            const Block& block, Copy copy) {
  int64_t rows[kRows];
  std::copy_n(block.rows, kRows, rows);
  const int64_t a_step = block.a_step, b_step = block.b_step;
  const int64_t column_step = block.column_step;
  for (int64_t b = 0; b < num_b; ++b, src += b_step, dst += column_step) {
    uint8_t* to = dst;
    HWY_UNROLL(8)
    for (int64_t a = 0; a < kRows; ++a, to += a_step) copy(to, src + rows[a]);
  }
}

// Calls copy(dst, src) for the items of a block in the order of the
// destination; if that spills over, last(dst, src) for those that no other item
// follows.
template <class Copy, class Last>
HWY_INLINE void ForEachItem(const Block& block, Prefetcher& prefetcher,
                            Copy copy, Last last) {
  // Copies of what the loops need: for all the compiler knows, the bytes they
  // write could be those of the block itself.
  const int64_t lines = PrefetchLines(block.num_a, block.item);
  const int64_t num_a = block.num_a, num_b = block.num_b;
  const int64_t a_step = block.a_step, b_step = block.b_step;
  const int64_t row_step = block.row_step, column_step = block.column_step;
  const int64_t* const rows = block.rows;
  const int64_t* const columns = block.columns;
  const Loop batch = block.batch;
  const bool packed = block.packed, prefetch = prefetcher.has_block();
  constexpr bool kSpills = !std::is_same_v<Copy, Last>;
  // Items longer than lines gain from two or three rows, not from more.
  const bool few = (block.item <= kLineBytes || num_a <= 3) && !prefetch;
  for (int64_t t = 0; t < batch.extent; ++t) {
    const uint8_t* src = block.src + t * batch.src_stride;
    uint8_t* const to = block.dst + t * batch.dst_stride;
    uint8_t* const first = to + columns[0];
    int64_t b = 0;
    if (few && column_step != 0 && (packed || !kSpills)) {
      b = kSpills ? num_b - 1 : num_b;
      switch (num_a) {
        case 2:
          MoveFewRows<2>(src, first, b, block, copy);
          break;
        case 3:
          MoveFewRows<3>(src, first, b, block, copy);
          break;
        case 4:
          MoveFewRows<4>(src, first, b, block, copy);
          break;
        case 5:
          MoveFewRows<5>(src, first, b, block, copy);
          break;
        case 6:
          MoveFewRows<6>(src, first, b, block, copy);
          break;
        case 7:
          MoveFewRows<7>(src, first, b, block, copy);
          break;
        case kMostSideBySide:
          MoveFewRows<kMostSideBySide>(src, first, b, block, copy);
          break;
        default:
          b = 0;
      }
      src += b * b_step;
    }
    for (; b < num_b; ++b, src += b_step) {
      uint8_t* dst = to + columns[b];
      const bool ends = kSpills && (!packed || b + 1 == num_b);
      const int64_t count = num_a - ends;
      if (row_step != 0) {
        const uint8_t* from = src + rows[0];
        for (int64_t a = 0; a < count; ++a, from += row_step, dst += a_step)
          copy(dst, from);
      } else {
        for (int64_t a = 0; a < count; ++a, dst += a_step)
          copy(dst, src + rows[a]);
      }
      if (ends)
        last(dst,
             src + (row_step != 0 ? rows[0] + count * row_step : rows[count]));
      if (prefetch) prefetcher.Prefetch(lines);
    }
  }
}

// Calls copy(dst, src) for the items of a block in the order of the source.
// REQUIRES: column_step != 0.
template <class Copy>
HWY_INLINE void ForEachItemByRows(const Block& block, Copy copy) {
  const int64_t num_a = block.num_a, num_b = block.num_b;
  const int64_t a_step = block.a_step, b_step = block.b_step;
  const int64_t column_step = block.column_step;
  const int64_t* const rows = block.rows;
  const Loop batch = block.batch;
  for (int64_t t = 0; t < batch.extent; ++t) {
    const uint8_t* const src = block.src + t * batch.src_stride;
    uint8_t* to = block.dst + t * batch.dst_stride + block.columns[0];
    for (int64_t a = 0; a < num_a; ++a, to += a_step) {
      const uint8_t* from = src + rows[a];
      uint8_t* dst = to;
      for (int64_t b = 0; b < num_b; ++b, from += b_step, dst += column_step)
        copy(dst, from);
    }
  }
}

// Moves the items of a block, each by one load and one store of kBytes.
template <int64_t kBytes>
void MoveSpilling(const Block& block, Prefetcher& prefetcher) {
  const int64_t item = block.item;
  ForEachItem(
      block, prefetcher,
      [](uint8_t* dst, const uint8_t* src)
          HWY_ATTR { CopyFixed<kBytes>(dst, src); },
      [=](uint8_t* dst, const uint8_t* src)
          HWY_ATTR { CopyHalves<kBytes / 2>(dst, src, item); });
}

// Moves the items of a block one by one.
HWY_INLINE void MoveRows(const Block& block, Prefetcher& prefetcher) {
  if (block.by_rows)
    return WithCopier(block.item, [&block](auto copy) HWY_ATTR {
      ForEachItemByRows(block, copy);
    });
  switch (SpillBytes(block)) {
    case 4:
      return MoveSpilling<4>(block, prefetcher);
    case 8:
      return MoveSpilling<8>(block, prefetcher);
    case 16:
      return MoveSpilling<16>(block, prefetcher);
    case 32:
      return MoveSpilling<32>(block, prefetcher);
    case 64:
      return MoveSpilling<64>(block, prefetcher);
    default:
      break;
  }
  WithCopier(block.item, [&block, &prefetcher](auto copy) HWY_ATTR {
    ForEachItem(block, prefetcher, copy, copy);
  });
}

HWY_INLINE void MoveRows(const Block& block) {
  Prefetcher nothing;
  MoveRows(block, nothing);
}

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
