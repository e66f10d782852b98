// Bringing together short items that lie apart in the source, per SIMD target.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/lookup/compact-inl.h"
#include "kernels/copy/block/pieces-inl.h"
#include "kernels/copy/block/rows/rows-inl.h"

#if defined(AXIS_BLOCK_COMPACT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_COMPACT_INL_H_
#undef AXIS_BLOCK_COMPACT_INL_H_
#else
#define AXIS_BLOCK_COMPACT_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_AVX3_DL

// More loads for a store than it has bytes or pairs, of longer items than four,
// take longer than to move items one by one.
inline constexpr size_t kMostLoads = kPieceBytes;
constexpr size_t MostLoads(int64_t item) {
  return item <= 2 ? kMostLoads / static_cast<size_t>(item) : 4;
}

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
      : item_(item),
        step_(step),
        num_pieces_(item / std::gcd(item, kPieceBytes)),
        items_(num_pieces_ * kPieceBytes / item) {
    const size_t most = MostLoads(item);
    int64_t from = 0, left = item;  // of the item that is being dealt out
    for (Piece& piece : std::span(pieces_, static_cast<size_t>(num_pieces_))) {
      size_t loads = 0;
      std::fill_n(piece.places[0], most * kPieceBytes, uint8_t{0x80});
      for (int64_t i = 0; i < kPieceBytes; ++i) {
        if (loads == 0 || from >= piece.at[loads - 1] + kPieceBytes) {
          if (loads == most) {
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

  // Moves the first items of one repetition of `block`, as many as whole loads
  // have within the source; returns how many.
  int64_t Move(const Block& block, const uint8_t* src, uint8_t* dst) const {
    if (items_ == 0) return 0;
    const int64_t src_step = items_ * step_, dst_step = items_ * item_;
    const int64_t steps =
        std::min(block.num_a / items_,
                 WindowsWithin(block.src_end - src, reach_, src_step));
    // Few enough to stay in the first cache from the first piece to the last.
    const int64_t some = std::max<int64_t>(1, kNear / src_step);
    for (int64_t i = 0; i < steps; i += some)
      LookUp(src + i * src_step, std::min(some, steps - i), dst + i * dst_step);
    return steps * items_;
  }

 private:
  static constexpr int64_t kNear = 8 << 10;

  void LookUp(const uint8_t* src, int64_t steps, uint8_t* dst) const {
    switch (most_loads_) {
      case 1:
        return LookUp<1>(src, steps, dst);
      case 2:
        return LookUp<2>(src, steps, dst);
      case 3:
        return LookUp<3>(src, steps, dst);
      case 4:
        return LookUp<4>(src, steps, dst);
      case 5:
      case 6:
        return LookUp<6>(src, steps, dst);
      case 7:
      case 8:
        return LookUp<8>(src, steps, dst);
      default:
        return LookUp<16>(src, steps, dst);
    }
  }

  // As many pieces at once as registers hold the places of.
  template <size_t kLoads>
  void LookUp(const uint8_t* src, int64_t steps, uint8_t* dst) const {
    int64_t i = 0;
    if constexpr (kLoads <= 4)
      for (; i + 3 <= num_pieces_; i += 3)
        LookUp<kLoads, 3>(pieces_ + i, src, steps, dst + i * kPieceBytes);
    for (; i < num_pieces_; ++i)
      LookUp<kLoads, 1>(pieces_ + i, src, steps, dst + i * kPieceBytes);
  }

  // kPieces of them, from the first on.
  template <size_t kLoads, int64_t kPieces>
  void LookUp(const Piece* pieces, const uint8_t* HWY_RESTRICT src,
              int64_t steps, uint8_t* HWY_RESTRICT dst) const {
    const VectorOf<kPieceBytes, 1> d;
    hn::Vec<decltype(d)> places[kPieces][kLoads];
    int64_t at[kPieces][kLoads];
    for (int64_t i = 0; i < kPieces; ++i)
      for (size_t k = 0; k < kLoads; ++k) {
        places[i][k] = hn::Load(d, pieces[i].places[k]);
        at[i][k] = pieces[i].at[k];
      }
    const int64_t src_step = items_ * step_, dst_step = items_ * item_;
    for (; steps > 0; --steps, src += src_step, dst += dst_step) {
      HWY_UNROLL(4)
      for (int64_t i = 0; i < kPieces; ++i) {
        auto x =
            hn::TableLookupBytesOr0(LoadAt(d, src + at[i][0]), places[i][0]);
        HWY_UNROLL(16)
        for (size_t k = 1; k < kLoads; ++k)
          x = hn::Or(x, hn::TableLookupBytesOr0(LoadAt(d, src + at[i][k]),
                                                places[i][k]));
        StoreAt(x, d, dst + i * kPieceBytes);
      }
    }
  }

  const int64_t item_, step_;
  const int64_t num_pieces_;
  int64_t items_, reach_ = 0;  // bytes of the source that a step looks at
  size_t most_loads_ = 0;
  Piece pieces_[kPieceBytes];
};

#endif  // HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_AVX3_DL

// Moves the items of `block`, which follow one another in the destination.
// REQUIRES: packed, num_b == 1, row_step > item, item <= kCompactItem.
inline void Compact(const Block& block) {
#if HWY_TARGET == HWY_SCALAR
  MoveRows(block);
#else
  const CompactPlan plan(block.item, block.row_step);
  Block rest = block;
  rest.batch.extent = 1;
  for (int64_t t = 0; t < block.batch.extent; ++t) {
    rest.src = block.src + t * block.batch.src_stride;
    rest.dst = block.dst + t * block.batch.dst_stride;
    const int64_t done =
        plan.Move(block, rest.src, rest.dst + block.columns[0]);
    rest.src += done * block.row_step;
    rest.dst += done * block.item;
    rest.num_a = block.num_a - done;
    if (rest.num_a > 0) MoveRows(rest);
  }
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
