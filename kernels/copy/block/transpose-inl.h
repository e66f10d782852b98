// Transposing items of 1, 2, 4, 8 or 16 bytes, per SIMD target.
#include <algorithm>
#include <cassert>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/pieces-inl.h"
#include "kernels/copy/block/prefetch.h"
#include "kernels/copy/block/rows/rows-inl.h"
#include "kernels/copy/block/runs-inl.h"
#include "kernels/copy/block/spill-inl.h"
#include "kernels/copy/block/stores-inl.h"
#include "kernels/copy/block/strips-inl.h"
#include "kernels/copy/block/thin-inl.h"

#if defined(AXIS_BLOCK_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_TRANSPOSE_INL_H_
#undef AXIS_BLOCK_TRANSPOSE_INL_H_
#else
#define AXIS_BLOCK_TRANSPOSE_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

template <int64_t kItem>
void Transpose(const Block& block, Prefetcher& prefetcher) {
  MoveRows(block, prefetcher);
}

#else

// All strips of side A from item `a` on, at most kBytes wide.
// REQUIRES: num_a >= kPieceItems.
template <int64_t kBytes, int64_t kItem>
HWY_INLINE void TransposeStrips(const Block& block, const uint8_t* src,
                                uint8_t* dst, int64_t a,
                                Prefetcher& prefetcher) {
  constexpr int64_t kRows = kBytes / kItem;
  const bool narrow = block.num_b < kPieceBytes / kItem;
  // To look up the rows of each strip takes longer than to transpose it.
  if (narrow && a == 0 && block.row_step > 0)
    a = TransposeNarrowColumns<kBytes, kItem>(block, src, dst);
  auto strip = [&](int64_t at) HWY_ATTR {
    if (narrow) {
      TransposeNarrowStrip<kBytes, kItem>(block, src, at, dst);
    } else {
      TransposeStripsOf<kItem, DirectStore<false>, 1, Square::kNone, kBytes>(
          block, src, at, at + kRows, block.num_b, dst, prefetcher);
    }
  };
  for (; a + kRows <= block.num_a; a += kRows) strip(a);
  const int64_t left = block.num_a - a;
  if (left == 0) return;
  if constexpr (kBytes > kPieceBytes)
    if (left <= kRows / 2 || block.num_a < kRows)
      return TransposeStrips<kBytes / 2, kItem>(block, src, dst, a, prefetcher);
  strip(block.num_a - kRows);
}

// Transposes the strips as wide as a line up to item `end` of side A.
template <int64_t kItem, class Store>
HWY_INLINE void TransposeLinesTo(const Block& block, const uint8_t* src,
                                 int64_t end, int64_t breadth, uint8_t* dst,
                                 Prefetcher& prefetcher) {
  constexpr int64_t kParts = kLineBytes / kVectorBytes;
  if constexpr (kHasSquares) {
    if (block.squares == Square::kWhole)
      return TransposeStripsOf<kItem, Store, kParts, Square::kWhole>(
          block, src, 0, end, breadth, dst, prefetcher);
    if constexpr (kItem == 2)  // where it gains
      if (block.squares == Square::kByPiece)
        return TransposeStripsOf<kItem, Store, kParts, Square::kByPiece>(
            block, src, 0, end, breadth, dst, prefetcher);
  }
  TransposeStripsOf<kItem, Store, kParts>(block, src, 0, end, breadth, dst,
                                          prefetcher);
}

// Transposes strips as wide as a line; returns the items of side A they hold.
// REQUIRES: num_b >= kPieceItems, or a line of squares; AreLines(block), or it
//           is not streamed, or `realign`.
template <int64_t kItem>
HWY_INLINE int64_t TransposeLines(const Block& block,
                                  [[maybe_unused]] bool realign,
                                  const uint8_t* src, uint8_t* dst,
                                  Prefetcher& prefetcher) {
  constexpr int64_t kRows = kLineBytes / kItem;
  if constexpr (kLineBytes / kVectorBytes > 2) return 0;
  const int64_t end = block.num_a / kRows * kRows;
  assert(block.squares == Square::kNone || block.num_b >= kRows);
#if HWY_TARGET == HWY_AVX3_DL
  if (realign)
    return TransposeLinesTo<kItem, Realigner<kItem> >(
               block, src, end,
               std::min(block.breadth, Realigner<kItem>::kColumns), dst,
               prefetcher),
           end;
  if (block.stream && block.pairs)
    return TransposeLinesTo<kItem, PairingStore<kItem> >(
               block, src, end, block.breadth, dst, prefetcher),
           end;
#endif
  block.stream ? TransposeLinesTo<kItem, DirectStore<true> >(
                     block, src, end, block.breadth, dst, prefetcher)
               : TransposeLinesTo<kItem, DirectStore<false> >(
                     block, src, end, block.breadth, dst, prefetcher);
  return end;
}

template <int64_t kItem>
void Transpose(const Block& block, Prefetcher& prefetcher) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  constexpr int64_t kShortBytes = std::min(kVectorBytes, kSpillRun);
  // Wider stores would each cross a line; that pays only where it is shuffles,
  // not stores, that take the time.
  constexpr int64_t kStripBytes = kItem <= 2 ? kVectorBytes : kShortBytes;
  const bool strips =
      kItem == kPieceBytes || block.num_a > kItems || block.num_b < 2 * kItems;
  const bool quiet = !block.stream && !prefetcher.has_block();
  if constexpr (kItem < kPieceBytes)
    if (quiet && block.num_a * kItem <= kShortBytes &&
        (block.packed || block.num_a < kItems))
      return TransposeShortColumns<kItem>(block);
  if (block.num_a < kItems) return MoveRows(block, prefetcher);
  const bool together = quiet && block.num_b >= kItems &&
                        block.num_a * kItem < kShortBytes &&
                        block.num_a * block.num_b * kItem <= kRepetitionBytes &&
                        block.batch.extent >= kFewRepetitions;
  if constexpr (kItem < kPieceBytes)
    if (together) return TransposeTogether<kItem>(block);
  const bool squares = block.squares != Square::kNone;
  // Whole lines are better written at once, but of small items.
  const bool sweeps = SweepsColumns(block) && (kItem <= 2 || !AreLines(block));
  // A line of a column at a time pays in cache, though its lines begin
  // elsewhere: not of small items, which take as long to be transposed.
  const bool by_lines = 2 * kVectorBytes >= kLineBytes && kItem >= 4 &&
                        !block.stream && !block.few_rows &&
                        block.num_a * kItem >= 2 * kLineBytes &&
                        block.num_b * kItem > kFewBytes;
  const bool few =
      strips && !squares && !by_lines && block.row_step != 0 &&
      block.num_b >= kItems &&
      block.num_b * kItem <= (sweeps ? kFewSweptBytes : kFewBytes) &&
      block.num_a * kItem >= kShortBytes && !block.stream;
  const bool long_enough = strips && !few && block.num_b >= kItems &&
                           block.num_a * kItem >= kLineBytes;
  const bool are_lines =
      long_enough && AreLines(block) && (block.stream || !block.few_rows);
  const bool realign = kRealigns && long_enough && !are_lines &&
                       block.realigns && AreAligned(block);
  const bool lines = are_lines || realign ||
                     (long_enough && (by_lines || (squares && !block.stream)));
  for (int64_t t = 0; t < block.batch.extent; ++t) {
    const uint8_t* const src = block.src + t * block.batch.src_stride;
    uint8_t* const dst = block.dst + t * block.batch.dst_stride;
    if (few && block.num_a * kItem < kVectorBytes) {
      TransposeFewColumns<kShortBytes, kItem>(block, src, dst, prefetcher);
    } else if (few) {
      TransposeFewColumns<kVectorBytes, kItem>(block, src, dst, prefetcher);
    } else if (strips) {
      const int64_t a =
          lines ? TransposeLines<kItem>(block, realign, src, dst, prefetcher)
                : 0;
      if (a < block.num_a)
        TransposeStrips<kStripBytes, kItem>(block, src, dst, a, prefetcher);
    } else if constexpr (kItem < kPieceBytes) {
      TransposeShort<kShortBytes, kItem>(block, src, dst);
    }
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
