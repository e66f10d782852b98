// Stores: how the vectors of a strip get to their columns, per SIMD target.
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/lookup/line_stream-inl.h"
#include "kernels/copy/block/lookup/lookup-inl.h"
#include "kernels/copy/block/pieces-inl.h"

#if defined(AXIS_BLOCK_STORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_STORES_INL_H_
#undef AXIS_BLOCK_STORES_INL_H_
#else
#define AXIS_BLOCK_STORES_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

// Stores vectors where they belong. What has been streamed is not streamed
// again: it would take as long as the first time.
template <bool kStream>
class DirectStore {
 public:
  static constexpr bool kPastCaches = kStream;
  static constexpr int64_t kStrips = 1;
  HWY_INLINE void Begin(int64_t) {}
  HWY_INLINE void Enter(int64_t, int64_t again, int64_t, int64_t) {
    again_ = again;
  }
  template <class V, class D>
  HWY_INLINE void Put(int64_t i, V x, D d, uint8_t* to) const {
    if (kStream && i < again_) return;
    StoreAt<kStream>(x, d, to);
  }
  HWY_INLINE void EndStrip() {}
  HWY_INLINE void End(int64_t, uint8_t*) const {}

 private:
  int64_t again_ = 0;
};

#endif  // HWY_TARGET != HWY_SCALAR

// Whether columns that begin within lines can be streamed in whole lines.
inline constexpr bool kRealigns = kHasLookup;

#if HWY_TARGET == HWY_AVX3_DL

// Streams columns that begin within lines in whole lines all the same. It takes
// the strips of a few columns, one after the other; what a strip has of a line
// is kept until the next one has the rest of it, so that only the first and the
// last line of a column are written in parts, and not streamed.
template <int64_t kItem>
class Realigner {
 public:
  static constexpr bool kPastCaches = true;
  static constexpr int64_t kStrips = 1;
  // So many columns at a time: what is kept of them stays in the first cache.
  static constexpr int64_t kColumns = 128;

  // Columns are counted from `column` on.
  HWY_INLINE void Begin(int64_t column) {
    base_ = column;
    is_first_ = true;
  }

  // The vectors to come are of columns from `column` on, of which the first
  // `again` have been put already.
  HWY_INLINE void Enter(int64_t column, int64_t again, int64_t, int64_t) {
    kept_at_ = kept_ + (column - base_) * kLineBytes;
    again_ = again;
  }

  // Writes `x`, which belongs to `to`, of the i-th column since then.
  template <class V, class D>
  HWY_INLINE void Put(int64_t i, V x, D d, uint8_t* to) const {
    if (i < again_) return;
    uint8_t* const kept = kept_at_ + i * kLineBytes;
    const int64_t shift = PlaceInLine(to);
    const V line = JoinVectors<Lane<kItem>>(LoadAt(d, kept), x, shift);
    StoreAt(x, d, kept);
    if (is_first_) {
      StoreBytes(line, ~uint64_t{0} << shift, to - shift);
    } else {
      StoreAt<true>(line, d, to - shift);
    }
  }

  HWY_INLINE void EndStrip() { is_first_ = false; }

  // Writes what is kept of `column`, whose next strip would begin at `to`.
  HWY_INLINE void End(int64_t column, uint8_t* to) const {
    const Bytes d;
    const int64_t shift = PlaceInLine(to);
    const BytesVec kept = LoadAt(d, kept_ + (column - base_) * kLineBytes);
    StoreBytes(JoinVectors<Lane<kItem>>(kept, kept, shift),
               (uint64_t{1} << shift) - 1, to - shift);
  }

 private:
  int64_t base_ = 0, again_ = 0;
  bool is_first_ = true;
  uint8_t* kept_at_ = nullptr;
  // The last columns of a block may take in some of those before.
  HWY_ALIGN uint8_t kept_[(kColumns + kLineBytes) * kLineBytes];
};

// Streams two lines of each column at a time. Single lines that lie an even
// number of lines apart took twice as long where the last cache is far, most
// likely because all go the same one of two ways to memory.
template <int64_t kItem>
class PairingStore {
 public:
  static constexpr bool kPastCaches = true;
  static constexpr int64_t kStrips = 2;

  HWY_INLINE void Begin(int64_t) {}

  // What comes is of the `strip`-th of `strips`: kept, if another follows.
  HWY_INLINE void Enter(int64_t, int64_t again, int64_t strip, int64_t strips) {
    again_ = again;
    keeps_ = strip + 1 < strips;
    has_kept_ = strip > 0;
  }

  template <class V, class D>
  HWY_INLINE void Put(int64_t i, V x, D d, uint8_t* to) const {
    if (i < again_) return;
    uint8_t* const kept = kept_ + i * kLineBytes;
    if (keeps_) return StoreAt(x, d, kept);
    if (has_kept_) StoreAt<true>(LoadAt(d, kept), d, to - kLineBytes);
    StoreAt<true>(x, d, to);
  }

  HWY_INLINE void EndStrip() {}
  HWY_INLINE void End(int64_t, uint8_t*) const {}

 private:
  bool keeps_ = false, has_kept_ = false;
  int64_t again_ = 0;
  // Of as many columns as a square has.
  HWY_ALIGN mutable uint8_t kept_[kLineBytes / kItem * kLineBytes];
};

#endif  // HWY_TARGET == HWY_AVX3_DL

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
