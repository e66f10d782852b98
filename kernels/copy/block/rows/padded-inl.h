// Transposing items of 3, 5, 6 and 7 bytes, such as the pixels of RGB images,
// per SIMD target.
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

// Registers transpose lanes of 4 and 8 bytes; so pieces of rows are looked up
// as if their items were as long, and what becomes of them back again. What is
// read and written beyond follows in the source, and is overwritten by what
// follows in the column. The last rows, which nothing may follow, are therefore
// moved item by item.
template <int64_t kItem>
class PaddedTile {
 public:
  static constexpr int64_t kBytes = std::min<int64_t>(kVectorBytes, 32);
  static constexpr int64_t kLane = kItem < 4 ? 4 : 8;
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

  // From `at` of each of kParts * kRows rows to kColumns columns of `dst`.
  template <int64_t kParts>
  HWY_INLINE void Transpose(const uint8_t* const* rows, int64_t at,
                            const int64_t* columns, uint8_t* dst) const {
    const VectorOf<kBytes, 1> bytes;
    const VectorOf<kBytes, kLane> lanes;
    const auto wide = hn::Load(bytes, wide_);
    const auto narrow = hn::Load(bytes, narrow_);
    hn::Vec<decltype(lanes)> x[kParts][kColumns];
    HWY_UNROLL(2)
    for (int64_t part = 0; part < kParts; ++part) {
      HWY_UNROLL(4)
      for (int64_t i = 0; i < kColumns; ++i) {
        const auto pieces = LoadPieces<kBytes, 1>(
            [=](int64_t row) HWY_ATTR { return rows[part * kRows + row] + at; },
            i, kColumns);
        x[part][i] = hn::BitCast(lanes, hn::TableLookupBytesOr0(pieces, wide));
      }
      TransposeBlocks(lanes, x[part]);
    }
    HWY_UNROLL(4)
    for (int64_t i = 0; i < kColumns; ++i) {
      HWY_UNROLL(2)
      for (int64_t part = 0; part < kParts; ++part)
        Store(hn::TableLookupBytesOr0(hn::BitCast(bytes, x[part][i]), narrow),
              dst + columns[i] + part * kRows * kItem);
    }
  }

 private:
  static constexpr uint8_t kNothing = 0x80;

  static uint8_t Place(int64_t at) { return static_cast<uint8_t>(at); }

  template <class V>
  static HWY_INLINE void Store(V items, uint8_t* to) {
    const VectorOf<kPieceBytes, 1> d;
    if constexpr (kBytes == kPieceBytes) {
      hn::StoreU(items, d, to);
    } else {
      hn::StoreU(hn::LowerHalf(d, items), d, to);
      hn::StoreU(hn::UpperHalf(d, items), d, to + kFull);
    }
  }

  HWY_ALIGN uint8_t wide_[kBytes];    // where the bytes of lanes come from
  HWY_ALIGN uint8_t narrow_[kBytes];  // and those of items
};

// Moves rows [a, num_a) of kParts tiles side by side, as many as make whole
// ones, and of them num_b columns; returns the first row that is left. So many
// of them fill most of a line, which is then as good as written once.
template <int64_t kParts, int64_t kItem>
int64_t MovePadded(const PaddedTile<kItem>& tile, const Block& block,
                   const uint8_t* src, uint8_t* dst, int64_t a, int64_t num_a,
                   int64_t num_b) {
  constexpr int64_t kRows = kParts * PaddedTile<kItem>::kRows;
  for (; a + kRows <= num_a; a += kRows) {
    const uint8_t* rows[kRows];
    for (int64_t i = 0; i < kRows; ++i) rows[i] = src + block.rows[a + i];
    for (int64_t b = 0; b < num_b; b += PaddedTile<kItem>::kColumns)
      tile.template Transpose<kParts>(rows, b * kItem, block.columns + b,
                                      dst + a * kItem);
  }
  return a;
}

template <int64_t kItem>
void TransposePaddedOf(const Block& block) {
  using Tile = PaddedTile<kItem>;
  const Tile tile;
  const int64_t num_b = block.num_b / Tile::kColumns * Tile::kColumns;
  int64_t num_a = 0;
  for (int64_t t = 0; t < block.batch.extent; ++t) {
    const uint8_t* const src = block.src + t * block.batch.src_stride;
    uint8_t* const dst = block.dst + t * block.batch.dst_stride;
    const int64_t end = block.num_a - Tile::kSlack;
    num_a = MovePadded<2>(tile, block, src, dst, 0, end, num_b);
    num_a = MovePadded<1>(tile, block, src, dst, num_a, end, num_b);
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
  switch (block.item) {
    case 3:
      TransposePaddedOf<3>(block);
      break;
    case 5:
      TransposePaddedOf<5>(block);
      break;
    case 6:
      TransposePaddedOf<6>(block);
      break;
    default:
      TransposePaddedOf<7>(block);
  }
  return true;
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
