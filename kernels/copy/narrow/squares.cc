#include "kernels/copy/narrow/squares.h"

#include <algorithm>

#include "kernels/copy/block.h"
#include "kernels/copy/byte_copy.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/narrow/sides.h"
#include "kernels/copy/plan/block_plan.h"
#include "kernels/copy/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/copy/narrow/squares.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Of two rows of fields of kField bits, the even fields of both and the odd
// ones, if the first field of a byte is in its high bits.
template <int kField, class D, class V>
HWY_INLINE void SwapFields(D d, V& first, V& second) {
  constexpr uint8_t kHigh = kField == 4 ? 0xf0 : kField == 2 ? 0xcc : 0xaa;
  const V high = hn::Set(d, kHigh);
  const V x = first, y = second;
  first = hn::Or(hn::And(x, high), hn::ShiftRight<kField>(hn::And(y, high)));
  second =
      hn::Or(hn::ShiftLeft<kField>(hn::AndNot(high, x)), hn::AndNot(high, y));
}

template <int kField, int kRows, class D, class V>
HWY_INLINE void SwapRows(D d, V (&x)[kRows]) {
  constexpr int kFar = kRows * kField / 8;
  for (int i = 0; i < kRows; ++i)
    if ((i & kFar) == 0) SwapFields<kField>(d, x[i], x[i + kFar]);
}

// `bytes` of kRows rows of as many elements a byte: what was element k of row
// i is element i of row k.
template <int kRows, bool kHighFirst, class D>
void TransposeRows(D d, const uint8_t* src, int64_t src_stride, int64_t bytes,
                   uint8_t* dst, int64_t dst_stride) {
  const int64_t lanes = static_cast<int64_t>(hn::MaxLanes(d));
  const int64_t last = bytes - lanes;
  for (int64_t at = 0;; at = std::min(at + lanes, last)) {
    hn::Vec<D> x[kRows];
    for (int i = 0; i < kRows; ++i)
      x[kHighFirst ? i : kRows - 1 - i] =
          hn::LoadU(d, src + i * src_stride + at);
    SwapRows<4>(d, x);
    if constexpr (kRows >= 4) SwapRows<2>(d, x);
    if constexpr (kRows >= 8) SwapRows<1>(d, x);
    for (int i = 0; i < kRows; ++i)
      hn::StoreU(x[kHighFirst ? i : kRows - 1 - i], d,
                 dst + i * dst_stride + at);
    if (at == last) return;
  }
}

void TransposeSquares(int64_t item_bits, const uint8_t* src, int64_t src_stride,
                      int64_t bytes, uint8_t* dst, int64_t dst_stride) {
  auto transpose = [&](auto d) HWY_ATTR {
    if (item_bits == 4) {
      TransposeRows<2, false>(d, src, src_stride, bytes, dst, dst_stride);
    } else if (item_bits == 2) {
      TransposeRows<4, true>(d, src, src_stride, bytes, dst, dst_stride);
    } else {
      TransposeRows<8, true>(d, src, src_stride, bytes, dst, dst_stride);
    }
  };
  const hn::ScalableTag<uint8_t> d;
  if (bytes >= static_cast<int64_t>(hn::MaxLanes(d))) return transpose(d);
  const hn::CappedTag<uint8_t, 16> half;
  if (bytes >= static_cast<int64_t>(hn::MaxLanes(half))) return transpose(half);
  const hn::CappedTag<uint8_t, 8> eight;
  if (bytes >= static_cast<int64_t>(hn::MaxLanes(eight)))
    return transpose(eight);
  transpose(hn::CappedTag<uint8_t, 1>());
}

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace axis {
namespace {

HWY_EXPORT(TransposeSquares);

// Blocks of so many elements on either side, or of one side all; fewer are
// mostly overhead.
constexpr int64_t kMostBlock = 1024;
constexpr int64_t kLeastBlock = 4096;

// Rows of fewer bytes fill no vector.
constexpr int64_t kLeastRow = 8;

// So many squares ahead rows are prefetched: what a block has of one is too
// short for a core to foresee it.
constexpr int64_t kLead = 2;

}  // namespace

std::optional<Sides> FindSquares(int64_t item_bits, std::span<const Loop> loops,
                                 int64_t from, int64_t to) {
  if (item_bits != 1 && item_bits != 2 && item_bits != 4) return std::nullopt;
  const int64_t items = 8 / item_bits;  // of a byte
  auto is_whole = [&](int64_t n) { return n % items == 0; };
  std::optional<Sides> sides = SidesOf(loops);
  if (!sides || !is_whole(from) || !is_whole(to)) return std::nullopt;
  const auto& [a, b, outer] = *sides;
  if (!is_whole(a.extent) || !is_whole(a.src_stride) || !is_whole(b.extent) ||
      !is_whole(b.dst_stride) || b.extent < kLeastRow * items ||
      a.extent * b.extent < kLeastBlock)
    return std::nullopt;
  for (const Loop& loop : outer)
    if (!is_whole(loop.src_stride) || !is_whole(loop.dst_stride))
      return std::nullopt;
  return sides;
}

void MoveSquares(int64_t item_bits, const Sides& squares, const uint8_t* src,
                 int64_t from, uint8_t* dst, int64_t to) {
  const auto& [a, b, outer] = squares;
  const int64_t items = 8 / item_bits;
  // In bytes from here on; those of side A are squares high.
  const int64_t row_stride = a.src_stride / items;
  const int64_t column_stride = b.dst_stride / items;
  const int64_t num_a = a.extent / items, num_b = b.extent / items;
  const int64_t block_a = std::min(num_a, kMostBlock / items);
  const int64_t block_b = std::min(num_b, kMostBlock / items);
  // One more line keeps the rows from evicting each other.
  const int64_t pitch = RoundUpToLine(block_b) + kLineBytes;
  uint8_t* const scratch = UnpackScratch();
  // What decides whether blocks are written past the caches.
  int64_t total_bytes = num_a * b.extent;
  for (const Loop& loop : outer) total_bytes *= loop.extent;
  auto move_block = [&](const uint8_t* block_src, int64_t extent_a,
                        int64_t extent_b, uint8_t* block_dst) {
    auto row = [&](int64_t i) { return block_src + i * row_stride; };
    for (int64_t i = 0; i < extent_a; ++i) {
      const int64_t ahead = i + kLead;
      if (ahead < extent_a)
        for (int64_t r = ahead * items; r < (ahead + 1) * items; ++r)
          for (int64_t at = 0; at < extent_b; at += kLineBytes)
            hwy::Prefetch(row(r) + at);
      HWY_DYNAMIC_DISPATCH(TransposeSquares)
      (item_bits, row(i * items), row_stride, extent_b,
       scratch + i * items * pitch, pitch);
    }
    ByteCopy copy{1,
                  {{extent_b, 1, items * column_stride},
                   {items, pitch, column_stride},
                   {extent_a, items * pitch, 1}}};
    Canonicalize(copy);
    MoveBlocks(PlanBlocks(copy, {}, total_bytes, ThisMachine()), scratch,
               scratch + extent_a * items * pitch, block_dst);
  };
  ForEach(outer, from, to, [&](int64_t s, int64_t d) {
    for (int64_t i = 0; i < num_a; i += block_a)
      for (int64_t j = 0; j < num_b; j += block_b)
        move_block(src + s / items + i * items * row_stride + j,
                   std::min(block_a, num_a - i), std::min(block_b, num_b - j),
                   dst + d / items + i + j * items * column_stride);
  });
}

}  // namespace axis
#endif  // HWY_ONCE
