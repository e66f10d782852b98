// Permuting the bytes of short runs, per SIMD target.
#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/lookup-inl.h"
#include "kernels/copy/block/pieces-inl.h"
#include "kernels/copy/block/runs-inl.h"

#if defined(AXIS_BLOCK_SHUFFLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_SHUFFLE_INL_H_
#undef AXIS_BLOCK_SHUFFLE_INL_H_
#else
#define AXIS_BLOCK_SHUFFLE_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

// The longest runs whose bytes are permuted here.
inline constexpr int64_t kShuffleRun = kHasLookup ? kMaxShuffle : 64;

#if HWY_TARGET != HWY_SCALAR

// Runs of at most kPieces pieces that follow one another, a block of a vector
// for each: every piece of the destination is looked up in all of the source.
// What is stored of the last one spills over into the next run, which is
// written later. Returns how many bytes are done.
template <int64_t kPieces>
int64_t ShufflePieces(const uint8_t* src, uint8_t* dst, int64_t run,
                      int64_t bytes, const uint8_t* shuffle) {
  constexpr int64_t kBytes = std::min<int64_t>(kVectorBytes, 32);
  constexpr int64_t kRuns = kBytes / kPieceBytes;
  const VectorOf<kBytes, 1> d;
  const VectorOf<kPieceBytes, 1> piece;
  using V = hn::Vec<decltype(d)>;
  // Where each byte of a piece lies in each of the source, or nowhere.
  HWY_ALIGN uint8_t places[kPieces][kPieces][kBytes];
  std::fill_n(&places[0][0][0], sizeof(places), uint8_t{0x80});
  for (int64_t i = 0; i < run; ++i)
    for (int64_t r = 0; r < kRuns; ++r)
      places[i / kPieceBytes][shuffle[i] / kPieceBytes]
            [r * kPieceBytes + i % kPieceBytes] = shuffle[i] % kPieceBytes;
  int64_t done = 0;
  for (; bytes - done >= (kRuns - 1) * run + kPieces * kPieceBytes;
       done += kRuns * run) {
    auto from = [=](int64_t i) HWY_ATTR {
      return src + done + i / kPieces * run + i % kPieces * kPieceBytes;
    };
    V x[kPieces], y[kPieces];
    HWY_UNROLL(4)
    for (int64_t i = 0; i < kPieces; ++i)
      x[i] = LoadPieces<kBytes, 1>(from, i, kPieces);
    HWY_UNROLL(4)
    for (int64_t i = 0; i < kPieces; ++i) {
      y[i] = hn::TableLookupBytesOr0(x[0], hn::Load(d, places[i][0]));
      HWY_UNROLL(3)
      for (int64_t j = 1; j < kPieces; ++j)
        y[i] = hn::Or(y[i],
                      hn::TableLookupBytesOr0(x[j], hn::Load(d, places[i][j])));
    }
    uint8_t* const to = dst + done;
    HWY_UNROLL(4)
    for (int64_t i = 0; i < kPieces; ++i) {
      if constexpr (kRuns == 1) {
        StoreAt(y[i], d, to + i * kPieceBytes);
      } else {
        StoreAt(hn::LowerHalf(piece, y[i]), piece, to + i * kPieceBytes);
      }
    }
    if constexpr (kRuns > 1) {
      HWY_UNROLL(4)
      for (int64_t i = 0; i < kPieces; ++i)
        StoreAt(hn::UpperHalf(piece, y[i]), piece, to + run + i * kPieceBytes);
    }
  }
  return done;
}

#endif  // HWY_TARGET != HWY_SCALAR

// Permutes the bytes of the runs of `item`, which follow one another if there
// is no lookup.
inline void Shuffle(const Block& block, const uint8_t* shuffle) {
  if (kHasLookup) return ShuffleByLookup(block, shuffle);
  const uint8_t* src = block.src;
  uint8_t* dst = block.dst;
  const int64_t run = block.item, bytes = block.batch.extent * run;
  int64_t done = 0;
#if HWY_TARGET != HWY_SCALAR
  switch ((run - 1) / kPieceBytes) {
    case 0:
      done = ShufflePieces<1>(src, dst, run, bytes, shuffle);
      break;
    case 1:
      done = ShufflePieces<2>(src, dst, run, bytes, shuffle);
      break;
    case 2:
      done = ShufflePieces<3>(src, dst, run, bytes, shuffle);
      break;
    default:
      done = ShufflePieces<4>(src, dst, run, bytes, shuffle);
      break;
  }
#endif
  for (; done < bytes; done += run)
    for (int64_t i = 0; i < run; ++i) dst[done + i] = src[done + shuffle[i]];
}

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
