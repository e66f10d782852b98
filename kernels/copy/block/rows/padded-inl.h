// Transposing items of 3 and 6 bytes, the pixels of RGB images, per SIMD
// target.
#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/pieces-inl.h"
#include "kernels/copy/block/rows/rows-inl.h"

#if defined(AXIS_BLOCK_ROWS_PADDED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_ROWS_PADDED_INL_H_
#undef AXIS_BLOCK_ROWS_PADDED_INL_H_
#else
#define AXIS_BLOCK_ROWS_PADDED_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

inline bool TransposePadded(const Block&) { return false; }

#else

// Registers transpose lanes of 4 and 8 bytes; so pieces of 12 bytes of rows are
// looked up as if they were of 16, and those of columns back again. Each is
// read and written with 4 bytes more: what follows it in the source, and what
// the next piece of its column overwrites. The last rows, which nothing may
// follow, are therefore moved item by item.
template <int64_t kItem>
class PaddedTile {
 public:
  static constexpr int64_t kLane = kItem / 3 * 4;
  static constexpr int64_t kBytes = std::min<int64_t>(kVectorBytes, 32);
  static constexpr int64_t kRows = kBytes / kLane;
  static constexpr int64_t kColumns = kPieceBytes / kLane;
  static constexpr int64_t kFull = kColumns * kItem;
  // So many items are the bytes beyond a piece.
  static constexpr int64_t kSlack = (kPieceBytes - kFull + kItem - 1) / kItem;

  PaddedTile() {
    for (int64_t i = 0; i < kBytes; ++i) {
      const int64_t at = i % kPieceBytes;
      const int64_t item = at / kLane * kItem, lane = at / kItem * kLane;
      wide_[i] = at % kLane < kItem ? Place(item + at % kLane) : kNothing;
      narrow_[i] = at < kFull ? Place(lane + at % kItem) : kNothing;
    }
  }

  // From `at` of each of kRows rows to kColumns columns of `dst`.
  HWY_INLINE void Transpose(const uint8_t* const* rows, int64_t at,
                            const int64_t* columns, uint8_t* dst) const {
    const VectorOf<kBytes, 1> bytes;
    const VectorOf<kBytes, kLane> lanes;
    const auto wide = hn::Load(bytes, wide_);
    const auto narrow = hn::Load(bytes, narrow_);
    hn::Vec<decltype(lanes)> x[kColumns];
    HWY_UNROLL(4)
    for (int64_t i = 0; i < kColumns; ++i) {
      const auto pieces = LoadPieces<kBytes, 1>(
          [=](int64_t row) HWY_ATTR { return rows[row] + at; }, i, kColumns);
      x[i] = hn::BitCast(lanes, hn::TableLookupBytesOr0(pieces, wide));
    }
    TransposeBlocks(lanes, x);
    HWY_UNROLL(4)
    for (int64_t i = 0; i < kColumns; ++i)
      Store(hn::TableLookupBytesOr0(hn::BitCast(bytes, x[i]), narrow),
            dst + columns[i]);
  }

 private:
  static constexpr uint8_t kNothing = 0x80;

  static uint8_t Place(int64_t at) { return static_cast<uint8_t>(at); }

  template <class V>
  static HWY_INLINE void Store(V x, uint8_t* to) {
    const VectorOf<kPieceBytes, 1> d;
    if constexpr (kBytes == kPieceBytes) {
      StoreAt(x, d, to);
    } else {
      StoreAt(hn::LowerHalf(d, x), d, to);
      StoreAt(hn::UpperHalf(d, x), d, to + kFull);
    }
  }

  HWY_ALIGN uint8_t wide_[kBytes];    // where the bytes of lanes come from
  HWY_ALIGN uint8_t narrow_[kBytes];  // and those of items
};

// So many pieces of columns are written side by side, so that the lines of
// those that compete stay in the first cache until the next strip.
inline constexpr int64_t kPaddedBreadth = 8;

template <int64_t kItem>
void TransposePaddedOf(const Block& block) {
  using Tile = PaddedTile<kItem>;
  const Tile tile;
  const int64_t pieces = block.num_b / Tile::kColumns;
  const int64_t num_a =
      (block.num_a - Tile::kSlack) / Tile::kRows * Tile::kRows;
  const int64_t num_b = pieces * Tile::kColumns;
  for (int64_t t = 0; t < block.batch.extent; ++t) {
    const uint8_t* const src = block.src + t * block.batch.src_stride;
    uint8_t* const dst = block.dst + t * block.batch.dst_stride;
    for (int64_t begin = 0; begin < pieces; begin += kPaddedBreadth) {
      const int64_t end = std::min(begin + kPaddedBreadth, pieces);
      for (int64_t a = 0; a < num_a; a += Tile::kRows) {
        const uint8_t* rows[Tile::kRows];
        for (int64_t i = 0; i < Tile::kRows; ++i)
          rows[i] = src + block.rows[a + i];
        for (int64_t piece = begin; piece < end; ++piece)
          tile.Transpose(rows, piece * Tile::kFull,
                         block.columns + piece * Tile::kColumns,
                         dst + a * kItem);
      }
    }
  }
  Block rest = block;
  rest.packed = false;
  rest.rows += num_a;
  rest.dst += num_a * kItem;
  rest.num_a -= num_a;
  MoveRows(rest);
  if (num_b == block.num_b) return;
  rest = block;
  rest.packed = false;
  rest.src += num_b * kItem;
  rest.columns += num_b;
  rest.num_b -= num_b;
  MoveRows(rest);
}

// Transposes `block` if its items are like that; false if they are not, or so
// few that nothing would be left to do.
inline bool TransposePadded(const Block& block) {
  // The most rows of a tile, with the slack, and the most columns.
  if (!IsPadded(block.item) || block.num_a < 8 + 2 || block.num_b < 4 ||
      block.a_step != block.item || block.b_step != block.item)
    return false;
  block.item == 3 ? TransposePaddedOf<3>(block) : TransposePaddedOf<6>(block);
  return true;
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
