// Permuting the bytes of short runs, per SIMD target.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/lookup/lines-inl.h"
#include "kernels/copy/block/lookup/lookup-inl.h"
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

// Vectors hold a piece of each of so many runs.
inline constexpr int64_t kShuffleVector = std::min<int64_t>(kVectorBytes, 32);
inline constexpr int64_t kVectorRuns = kShuffleVector / kPieceBytes;

using ShuffleTag = VectorOf<kShuffleVector, 1>;
using ShuffleVector = hn::Vec<ShuffleTag>;

// Where each byte of a piece lies in each of the source, or nowhere.
template <int64_t kPieces>
struct PiecePlaces {
  HWY_INLINE PiecePlaces(const uint8_t* shuffle, int64_t run) {
    HWY_ALIGN uint8_t at[kPieces][kPieces][kShuffleVector];
    std::fill_n(&at[0][0][0], sizeof(at), uint8_t{0x80});
    for (int64_t i = 0; i < run; ++i)
      for (int64_t r = 0; r < kVectorRuns; ++r)
        at[i / kPieceBytes][shuffle[i] / kPieceBytes]
          [r * kPieceBytes + i % kPieceBytes] = shuffle[i] % kPieceBytes;
    HWY_UNROLL(16)
    for (int64_t i = 0; i < kPieces * kPieces; ++i)
      of[i / kPieces][i % kPieces] =
          hn::Load(ShuffleTag(), at[i / kPieces][i % kPieces]);
  }

  ShuffleVector of[kPieces][kPieces];
};

// Permutes kVectorRuns runs that follow one another: every piece of the
// destination is looked up in all of the source. What is stored of the last one
// spills over into the next run, which is written later.
template <int64_t kPieces>
HWY_INLINE void ShuffleRuns(const uint8_t* src, uint8_t* dst, int64_t run,
                            const PiecePlaces<kPieces>& places) {
  const ShuffleTag d;
  const VectorOf<kPieceBytes, 1> piece;
  auto from = [=](int64_t i) HWY_ATTR {
    return src + i / kPieces * run + i % kPieces * kPieceBytes;
  };
  ShuffleVector x[kPieces], y[kPieces];
  HWY_UNROLL(4)
  for (int64_t i = 0; i < kPieces; ++i)
    x[i] = LoadPieces<kShuffleVector, 1>(from, i, kPieces);
  HWY_UNROLL(4)
  for (int64_t i = 0; i < kPieces; ++i) {
    y[i] = hn::TableLookupBytesOr0(x[0], places.of[i][0]);
    HWY_UNROLL(3)
    for (int64_t j = 1; j < kPieces; ++j)
      y[i] = hn::Or(y[i], hn::TableLookupBytesOr0(x[j], places.of[i][j]));
  }
  HWY_UNROLL(4)
  for (int64_t i = 0; i < kPieces; ++i) {
    if constexpr (kVectorRuns == 1) {
      StoreAt(y[i], d, dst + i * kPieceBytes);
    } else {
      StoreAt(hn::LowerHalf(piece, y[i]), piece, dst + i * kPieceBytes);
    }
  }
  if constexpr (kVectorRuns > 1) {
    HWY_UNROLL(4)
    for (int64_t i = 0; i < kPieces; ++i)
      StoreAt(hn::UpperHalf(piece, y[i]), piece, dst + run + i * kPieceBytes);
  }
}

// The source is asked for so many bytes before it is shuffled past the caches.
inline constexpr int64_t kShuffleAhead = 4096;
inline constexpr int64_t kShuffleChunk = 1024;  // and written in one go

// Permutes the bytes of pieces, which are all a run, or several; returns how
// many bytes are done.
template <bool kStream>
int64_t ShuffleVectors(const uint8_t* src, uint8_t* dst, int64_t bytes,
                       const uint8_t* shuffle) {
  constexpr int64_t kSteps = kLineBytes / kShuffleVector;
  const ShuffleTag d;
  const auto places = hn::LoadDup128(d, shuffle);
  int64_t done = 0;
  for (; bytes - done >= kLineBytes; done += kLineBytes) {
    if (kStream) hwy::Prefetch(src + done + kShuffleAhead);
    HWY_UNROLL(4)
    for (int64_t i = 0; i < kSteps; ++i) {
      const int64_t at = done + i * kShuffleVector;
      const auto x = hn::TableLookupBytes(LoadAt(d, src + at), places);
      kStream ? hn::Stream(x, d, dst + at) : StoreAt(x, d, dst + at);
    }
  }
  return done;
}

// Permutes runs of at most kPieces pieces; returns how many bytes are done.
template <int64_t kPieces>
int64_t ShufflePieces(const uint8_t* src, uint8_t* dst, int64_t run,
                      int64_t bytes, bool stream, const uint8_t* shuffle) {
  const PiecePlaces<kPieces> places(shuffle, run);
  const int64_t step = kVectorRuns * run;
  int64_t done = 0;
  if (stream) {
    // By way of a few lines, and what spills over the last of them.
    const int64_t unit = std::lcm(kLineBytes, step);
    const int64_t chunk = std::max<int64_t>(1, kShuffleChunk / unit) * unit;
    HWY_ALIGN uint8_t lines[kLineBytes * kPieces * kPieceBytes + kLineBytes];
    for (; bytes - done >= chunk + kPieces * kPieceBytes; done += chunk) {
      for (int64_t at = 0; at < chunk; at += kLineBytes)
        hwy::Prefetch(src + done + at + kShuffleAhead);
      for (int64_t at = 0; at < chunk; at += step)
        ShuffleRuns<kPieces>(src + done + at, lines + at, run, places);
      StreamRun(dst + done, lines, chunk);
    }
  }
  const int64_t last = bytes - (step - run) - kPieces * kPieceBytes;
  for (; done <= last; done += step)
    ShuffleRuns<kPieces>(src + done, dst + done, run, places);
  return done;
}

#endif  // HWY_TARGET != HWY_SCALAR

// Permutes the bytes of the runs of `item`, which follow one another if there
// is no lookup.
inline void Shuffle(const Block& block, const uint8_t* shuffle) {
  if (kHasLookup) {
    if (!ShuffleInLines(block, shuffle)) ShuffleByLookup(block, shuffle);
    return;
  }
  const uint8_t* src = block.src;
  uint8_t* dst = block.dst;
  const int64_t bytes = block.batch.extent * block.item;
  int64_t done = 0;
#if HWY_TARGET != HWY_SCALAR
  // As many runs as a piece holds are one.
  const int64_t run =
      block.item * std::max<int64_t>(1, kPieceBytes / block.item);
  switch ((run - 1) / kPieceBytes) {
    case 0:
      if (run == kPieceBytes && (!block.stream || IsAtLine(dst))) {
        done = block.stream ? ShuffleVectors<true>(src, dst, bytes, shuffle)
                            : ShuffleVectors<false>(src, dst, bytes, shuffle);
        break;
      }
      done = ShufflePieces<1>(src, dst, run, bytes, block.stream, shuffle);
      break;
    case 1:
      done = ShufflePieces<2>(src, dst, run, bytes, block.stream, shuffle);
      break;
    case 2:
      done = ShufflePieces<3>(src, dst, run, bytes, block.stream, shuffle);
      break;
    default:
      done = ShufflePieces<4>(src, dst, run, bytes, block.stream, shuffle);
      break;
  }
#endif
  for (; done < bytes; done += block.item)
    for (int64_t i = 0; i < block.item; ++i)
      dst[done + i] = src[done + shuffle[i]];
}

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
