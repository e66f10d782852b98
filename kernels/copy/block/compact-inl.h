// Bringing together short items that lie apart in the source, per SIMD target.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/pieces-inl.h"
#include "kernels/copy/block/runs-inl.h"

#if defined(AXIS_BLOCK_COMPACT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_COMPACT_INL_H_
#undef AXIS_BLOCK_COMPACT_INL_H_
#else
#define AXIS_BLOCK_COMPACT_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

// `count` items, `step` bytes apart in the source.
struct ItemsApart {
  int64_t item, step, count;
  const uint8_t* src;
  const uint8_t* src_end;
  uint8_t* dst;
  int64_t room;  // how many bytes from dst on are written here, or later

  void Skip(int64_t items) {
    count -= items;
    src += items * step;
    dst += items * item;
    room -= items * item;
  }
};

#if HWY_TARGET != HWY_SCALAR

// More loads for a store take longer than to move items one by one.
inline constexpr size_t kMostLoads = 4;

// How the items of a few pieces of the destination are looked up in pieces of
// the source, over and over: each piece of the destination is made of the
// bytes that up to kMostLoads loads have for it.
class CompactPlan {
 public:
  struct Piece {
    int64_t at[kMostLoads];  // where they begin
    HWY_ALIGN uint8_t places[kMostLoads][kPieceBytes];
  };

  CompactPlan(int64_t item, int64_t step)
      : num_pieces_(item / std::gcd(item, kPieceBytes)),
        items_(num_pieces_ * kPieceBytes / item) {
    int64_t from = 0, left = item;  // of the item that is being dealt out
    for (Piece& piece : std::span(pieces_, static_cast<size_t>(num_pieces_))) {
      size_t loads = 0;
      std::fill_n(piece.places[0], kMostLoads * kPieceBytes, uint8_t{0x80});
      for (int64_t i = 0; i < kPieceBytes; ++i) {
        if (loads == 0 || from >= piece.at[loads - 1] + kPieceBytes) {
          if (loads == kMostLoads) {
            items_ = 0;
            return;
          }
          piece.at[loads++] = from;
        }
        piece.places[loads - 1][i] =
            static_cast<uint8_t>(from - piece.at[loads - 1]);
        ++from;
        if (--left == 0) from += step - item, left = item;
      }
      reach_ = piece.at[loads - 1] + kPieceBytes;
      // All get as many, some of nothing.
      std::fill(piece.at + loads, piece.at + kMostLoads, piece.at[0]);
      most_loads_ = std::max(most_loads_, loads);
    }
  }

  // Moves as many items as there is room for; returns how many.
  int64_t Move(const ItemsApart& apart) const {
    if (items_ == 0) return 0;
    const int64_t steps = std::min(
        apart.count / items_,
        WindowsWithin(apart.src_end - apart.src, reach_, items_ * apart.step));
    // Few enough to stay in the first cache from the first piece to the last.
    const int64_t some = std::max<int64_t>(1, kNear / (items_ * apart.step));
    ItemsApart part = apart;
    for (int64_t left = steps; left > 0; left -= some) {
      LookUp(part, std::min(some, left));
      part.Skip(some * items_);
    }
    return steps * items_;
  }

 private:
  static constexpr int64_t kNear = 8 << 10;

  void LookUp(const ItemsApart& apart, int64_t steps) const {
    switch (most_loads_) {
      case 1:
        return LookUp<1>(apart, steps);
      case 2:
        return LookUp<2>(apart, steps);
      case 3:
        return LookUp<3>(apart, steps);
      default:
        return LookUp<4>(apart, steps);
    }
  }

  // As many pieces at once as registers hold the places of.
  template <size_t kLoads>
  void LookUp(const ItemsApart& apart, int64_t steps) const {
    int64_t i = 0;
    for (; i + 3 <= num_pieces_; i += 3)
      LookUp<kLoads, 3>(pieces_ + i, apart, steps);
    for (; i < num_pieces_; ++i) LookUp<kLoads, 1>(pieces_ + i, apart, steps);
  }

  // kPieces of them, from the first on.
  template <size_t kLoads, int64_t kPieces>
  void LookUp(const Piece* pieces, const ItemsApart& apart,
              int64_t steps) const {
    const VectorOf<kPieceBytes, 1> d;
    hn::Vec<decltype(d)> places[kPieces][kLoads];
    int64_t at[kPieces][kLoads];
    for (int64_t i = 0; i < kPieces; ++i)
      for (size_t k = 0; k < kLoads; ++k) {
        places[i][k] = hn::Load(d, pieces[i].places[k]);
        at[i][k] = pieces[i].at[k];
      }
    const int64_t src_step = items_ * apart.step;
    const int64_t dst_step = items_ * apart.item;
    const uint8_t* HWY_RESTRICT src = apart.src;
    uint8_t* HWY_RESTRICT dst = apart.dst + (pieces - pieces_) * kPieceBytes;
    for (; steps > 0; --steps, src += src_step, dst += dst_step) {
      HWY_UNROLL(4)
      for (int64_t i = 0; i < kPieces; ++i) {
        auto x =
            hn::TableLookupBytesOr0(LoadAt(d, src + at[i][0]), places[i][0]);
        HWY_UNROLL(4)
        for (size_t k = 1; k < kLoads; ++k)
          x = hn::Or(x, hn::TableLookupBytesOr0(LoadAt(d, src + at[i][k]),
                                                places[i][k]));
        StoreAt(x, d, dst + i * kPieceBytes);
      }
    }
  }

  const int64_t num_pieces_;
  int64_t items_, reach_ = 0;  // bytes of the source that a step looks at
  size_t most_loads_ = 0;
  Piece pieces_[kPieceBytes];
};

// Moves items one by one, by kBytes, as far as there is room for so many;
// returns how many. What they take in besides is overwritten by the next.
template <int64_t kBytes>
HWY_INLINE int64_t CompactItems(const ItemsApart& apart) {
  const int64_t item = apart.item, step = apart.step;
  const int64_t count = std::min(
      {apart.count, WindowsWithin(apart.src_end - apart.src, kBytes, step),
       WindowsWithin(apart.room, kBytes, item)});
  const uint8_t* HWY_RESTRICT src = apart.src;
  uint8_t* HWY_RESTRICT dst = apart.dst;
  for (int64_t i = 0; i < count; ++i, src += step, dst += item)
    CopyFixed<kBytes>(dst, src);
  return count;
}

HWY_INLINE int64_t CompactItems(const ItemsApart& apart) {
  switch (std::bit_ceil(static_cast<uint64_t>(apart.item))) {
    case 1:
      return CompactItems<1>(apart);
    case 2:
      return CompactItems<2>(apart);
    case 4:
      return CompactItems<4>(apart);
    case 8:
      return CompactItems<8>(apart);
    default:
      return CompactItems<16>(apart);
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

// Moves the items of `block`, which follow one another in the destination.
// REQUIRES: packed, num_b == 1, row_step > item, item <= kCompactItem.
inline void Compact(const Block& block) {
  const Loop batch = block.batch;
  const int64_t run = block.num_a * block.item;
#if HWY_TARGET != HWY_SCALAR
  const CompactPlan plan(block.item, block.row_step);
#endif
  for (int64_t t = 0; t < batch.extent; ++t) {
    ItemsApart apart = {
        .item = block.item,
        .step = block.row_step,
        .count = block.num_a,
        .src = block.src + t * batch.src_stride,
        .src_end = block.src_end,
        .dst = block.dst + block.columns[0] + t * batch.dst_stride,
        .room = batch.dst_stride == run ? (batch.extent - t) * run : run};
#if HWY_TARGET != HWY_SCALAR
    apart.Skip(plan.Move(apart));
    apart.Skip(CompactItems(apart));
#endif
    for (; apart.count > 0; apart.Skip(1))
      CopyShort(apart.dst, apart.src, apart.item);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
