// Interleaving up to four rows of up to a line, and taking them apart again, by
// instructions that look up: each repetition is a tile, moved as a whole.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/lookup/lookup-inl.h"
#include "kernels/copy/plan/walk.h"
#include "kernels/copy/tasks.h"

#if defined(AXIS_BLOCK_LOOKUP_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_LOOKUP_TILES_INL_H_
#undef AXIS_BLOCK_LOOKUP_TILES_INL_H_
#else
#define AXIS_BLOCK_LOOKUP_TILES_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3_DL

// What the last of kVectors vectors has of `bytes`.
template <int64_t kVectors>
HWY_INLINE hn::Mask<Bytes> LastOf(int64_t bytes) {
  return hn::FirstN(Bytes(),
                    static_cast<size_t>(bytes - (kVectors - 1) * kLineBytes));
}

// So many tiles are moved before others may go first.
inline constexpr int64_t kTilesInOneGo = 1024;

// Calls f(src, dst) for all tiles of all blocks from `block` on.
template <class F>
HWY_INLINE void ForEachTile(Block block, BlockWalk& walk, F f) {
  const Loop batch = block.batch;
  const int64_t tile = block.num_a * block.num_b * block.item;
  do {
    const uint8_t* src = block.src;
    uint8_t* dst = block.dst;
    for (int64_t left = batch.extent; left > 0;) {
      const int64_t tiles = std::min(left, kTilesInOneGo);
      for (int64_t t = 0; t < tiles;
           ++t, src += batch.src_stride, dst += batch.dst_stride)
        f(src, dst);
      left -= tiles;
      GiveWay(tiles * tile);
    }
  } while (walk.NextAlike(block));
}

// A tile has kRows rows, all of them in kVectors vectors.
template <int64_t kItem, int64_t kRows, int64_t kVectors>
void InterleaveTiles(const Block& block, BlockWalk& walk) {
  const Shuffler<kRows> shuffle(Interleaving<kItem, kRows>::kTogether.data());
  const int64_t run = block.num_b * kItem;
  const auto row = hn::FirstN(Bytes(), static_cast<size_t>(run));
  const auto last = LastOf<kVectors>(run * kRows);
  int64_t rows[kRows];
  std::copy_n(block.rows, kRows, rows);
  ForEachTile(block, walk, [&](const uint8_t* src, uint8_t* dst) HWY_ATTR {
    shuffle(
        [&](int64_t a)
            HWY_ATTR { return hn::MaskedLoad(row, Bytes(), src + rows[a]); },
        [&](int64_t i, BytesVec x) HWY_ATTR {
          uint8_t* const to = dst + i * kLineBytes;
          if (i < kVectors - 1) hn::StoreU(x, Bytes(), to);
          if (i == kVectors - 1) hn::BlendedStore(x, last, Bytes(), to);
        });
  });
}

template <int64_t kItem, int64_t kRows, int64_t kVectors>
void DeinterleaveTiles(const Block& block, BlockWalk& walk) {
  const int64_t run = block.num_a * kItem;
  const auto row = hn::FirstN(Bytes(), static_cast<size_t>(run));
  const auto last = LastOf<kVectors>(run * kRows);
  BytesVec places[kRows];
  int64_t columns[kRows];
  for (int64_t b = 0; b < kRows; ++b) {
    places[b] = hn::LoadU(
        Bytes(), Interleaving<kItem, kRows>::kApart.data() + b * kLineBytes);
    columns[b] = block.columns[b];
  }
  ForEachTile(block, walk, [&](const uint8_t* src, uint8_t* dst) HWY_ATTR {
    BytesVec x[kVectors];
    HWY_UNROLL(4)
    for (int64_t i = 0; i < kVectors - 1; ++i)
      x[i] = hn::LoadU(Bytes(), src + i * kLineBytes);
    x[kVectors - 1] =
        hn::MaskedLoad(last, Bytes(), src + (kVectors - 1) * kLineBytes);
    HWY_UNROLL(4)
    for (int64_t b = 0; b < kRows; ++b)
      hn::BlendedStore(LookUp(x, places[b]), row, Bytes(), dst + columns[b]);
  });
}

template <int64_t kItem>
void MoveTilesOf(const BlockPlan& plan, const Block& block, BlockWalk& walk) {
  const bool interleaves = plan.kernel == Kernel::kInterleave;
  const int64_t bytes = block.num_a * block.num_b * kItem;
  WithConstant(
      interleaves ? block.num_a : block.num_b, [&](auto rows) HWY_ATTR {
        WithConstant(
            (bytes + kLineBytes - 1) / kLineBytes, [&](auto vectors) HWY_ATTR {
              if constexpr (vectors() <= rows()) {
                interleaves
                    ? InterleaveTiles<kItem, rows(), vectors()>(block, walk)
                    : DeinterleaveTiles<kItem, rows(), vectors()>(block, walk);
              }
            });
      });
}

// Carries out a plan of tiles.
// REQUIRES: walk.AreAlike().
inline void MoveTiles(const BlockPlan& plan, BlockWalk& walk) {
  Block block;
  if (!walk.Next(block)) return;
  switch (plan.item) {
    case 1:
      return MoveTilesOf<1>(plan, block, walk);
    case 2:
      return MoveTilesOf<2>(plan, block, walk);
    case 4:
      return MoveTilesOf<4>(plan, block, walk);
    default:
      return MoveTilesOf<8>(plan, block, walk);
  }
}

#else

// For a plan of another machine.
inline void MoveTiles(const BlockPlan& plan, BlockWalk& walk) {
  const bool interleaves = plan.kernel == Kernel::kInterleave;
  const auto item = static_cast<size_t>(plan.item);
  for (Block block; walk.Next(block);)
    for (int64_t t = 0; t < block.batch.extent; ++t)
      for (int64_t a = 0; a < block.num_a; ++a)
        for (int64_t b = 0; b < block.num_b; ++b) {
          const int64_t row =
              interleaves ? block.rows[a] : a * block.num_b * block.item;
          const int64_t column =
              interleaves ? b * block.num_a * block.item : block.columns[b];
          std::memcpy(
              block.dst + t * block.batch.dst_stride + column + a * block.item,
              block.src + t * block.batch.src_stride + row + b * block.item,
              item);
        }
}

#endif  // HWY_TARGET == HWY_AVX3_DL

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
