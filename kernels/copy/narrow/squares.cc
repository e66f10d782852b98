#include "kernels/copy/narrow/squares.h"

#include <algorithm>

#include "kernels/copy/block.h"
#include "kernels/copy/byte_copy.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/memory/scratch.h"
#include "kernels/copy/narrow/sides.h"
#include "kernels/copy/plan/block_plan.h"
#include "kernels/copy/tasks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/copy/narrow/squares.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// So many squares ahead rows are prefetched: what a block has of one is too
// short for a core to foresee it.
constexpr int64_t kLead = 2;

// shift(x), those of a pair of bytes together: there are no shifts of bytes.
// What comes from the other byte of the pair is the caller's to drop.
template <class D, class V, class Shift>
HWY_INLINE V ShiftPairs(D d, V x, Shift shift) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    return shift(x);
  } else {
    const hn::RepartitionToWide<D> pairs;
    return hn::BitCast(d, shift(hn::BitCast(pairs, x)));
  }
}

// Of two rows of fields of kField bits, the even fields of both and the odd
// ones, if the first field of a byte is in its high bits: exchanges the odd
// ones of the first row for the even ones of the second.
template <int kField, class D, class V>
HWY_INLINE void SwapFields(D d, V& first, V& second) {
  constexpr uint8_t kOdd = kField == 4 ? 0x0f : kField == 2 ? 0x33 : 0x55;
  auto right = [](auto x) HWY_ATTR { return hn::ShiftRight<kField>(x); };
  auto left = [](auto x) HWY_ATTR { return hn::ShiftLeft<kField>(x); };
  const V differ =
      hn::And(hn::Xor(first, ShiftPairs(d, second, right)), hn::Set(d, kOdd));
  first = hn::Xor(first, differ);
  second = hn::Xor(second, ShiftPairs(d, differ, left));
}

template <int kField, int kRows, class D, class V>
HWY_INLINE void SwapRows(D d, V (&x)[kRows]) {
  constexpr int kFar = kRows * kField / 8;
  for (int i = 0; i < kRows; ++i)
    if ((i & kFar) == 0) SwapFields<kField>(d, x[i], x[i + kFar]);
}

// Transposes the squares of kRows rows of `bytes` bytes, a byte of which has as
// many elements: what was element k of row i is element i of row k.
template <int kRows, bool kHighFirst, class D>
HWY_INLINE void TransposeRows(D d, const uint8_t* src, int64_t src_stride,
                              int64_t bytes, uint8_t* dst, int64_t dst_stride) {
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

// The same of `count` times as many rows.
template <int kRows, bool kHighFirst, class D>
void TransposeBands(D d, const uint8_t* src, int64_t src_stride, int64_t bytes,
                    int64_t count, uint8_t* dst, int64_t dst_stride) {
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t* const ahead = src + kLead * kRows * src_stride;
    if (i + kLead < count)
      for (int64_t at = 0; at < bytes; at += kLineBytes)
        for (int r = 0; r < kRows; ++r)
          hwy::Prefetch(ahead + r * src_stride + at);
    TransposeRows<kRows, kHighFirst>(d, src, src_stride, bytes, dst,
                                     dst_stride);
    src += kRows * src_stride, dst += kRows * dst_stride;
  }
}

// The same by the width of the elements.
void TransposeSquares(int64_t item_bits, const uint8_t* src, int64_t src_stride,
                      int64_t bytes, int64_t count, uint8_t* dst,
                      int64_t dst_stride) {
  auto transpose = [&](auto d) HWY_ATTR {
    if (item_bits == 4) {
      TransposeBands<2, false>(d, src, src_stride, bytes, count, dst,
                               dst_stride);
    } else if (item_bits == 2) {
      TransposeBands<4, true>(d, src, src_stride, bytes, count, dst,
                              dst_stride);
    } else {
      TransposeBands<8, true>(d, src, src_stride, bytes, count, dst,
                              dst_stride);
    }
  };
  const hn::ScalableTag<uint8_t> d;
  if (bytes >= static_cast<int64_t>(hn::MaxLanes(d))) return transpose(d);
  const hn::CappedTag<uint8_t, 16> half;
  if (bytes >= static_cast<int64_t>(hn::MaxLanes(half))) return transpose(half);
  const hn::CappedTag<uint8_t, 8> eight;
  if (bytes >= static_cast<int64_t>(hn::MaxLanes(eight)))
    return transpose(eight);
  const hn::CappedTag<uint8_t, 4> four;
  if (bytes >= static_cast<int64_t>(hn::MaxLanes(four))) return transpose(four);
  transpose(hn::CappedTag<uint8_t, 1>());
}

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace axis {
namespace {

HWY_EXPORT(TransposeSquares);

// Blocks of so many elements on either side, or of one side all.
constexpr int64_t kMostBlock = 1024;

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
  const int64_t block_a = std::min(num_a, kMostBlock / items);
  const int64_t block_b = std::min(num_b, kMostBlock / items);
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
    for (int64_t k = 0; k < count; ++k) {
      HWY_DYNAMIC_DISPATCH(TransposeSquares)
      (item_bits, block_src + k * batch.src_stride / items, row_stride,
       extent_b, extent_a, scratch + k * block_bytes, pitch);
    }
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
#endif  // HWY_ONCE
