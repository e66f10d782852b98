// Moving blocks item by item past the caches, per SIMD target.
#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/lookup/lines-inl.h"
#include "kernels/copy/block/prefetch.h"
#include "kernels/copy/block/runs-inl.h"

#if defined(AXIS_BLOCK_STREAM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_STREAM_INL_H_
#undef AXIS_BLOCK_STREAM_INL_H_
#else
#define AXIS_BLOCK_STREAM_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

// Streams runs that follow one another in the destination: a line that two of
// them share is put together first, so that all but the first and the last are
// written whole.
class RunStreamer {
 public:
  explicit RunStreamer(uint8_t* dst) : dst_(dst) {}

  // REQUIRES: bytes >= 2 * kLineBytes.
  HWY_INLINE void Add(const uint8_t* src, int64_t bytes) {
    int64_t i = 0;
    if (filled_ > 0) {
      CopyFixed<kLineBytes>(line_ + kLineBytes + filled_, src);
      AddLine(line_ + kLineBytes);
      i = kLineBytes - filled_;
    } else if (!IsAtLine(dst_)) {
      i = kLineBytes - PlaceInLine(dst_);
      CopyRun(dst_, src, i);
      dst_ += i;
    }
    for (; i + kLineBytes <= bytes; i += kLineBytes) AddLine(src + i);
    filled_ = bytes - i;
    CopyFixed<kLineBytes>(line_ + filled_, src + bytes - kLineBytes);
  }

  void End() {
    if (filled_ > 0) CopyRun(dst_, line_ + kLineBytes, filled_);
  }

 private:
  HWY_INLINE void AddLine(const uint8_t* from) {
    StreamLine(dst_, from);
    dst_ += kLineBytes;
  }

  uint8_t* dst_;        // of the next line
  int64_t filled_ = 0;  // of it, the bytes there are
  // They begin after a line of room.
  HWY_ALIGN uint8_t line_[3 * kLineBytes];
};

// Moves items of so many lines to lines, past the caches, and asks for what
// lies `ahead` of each. Longer ones are better asked for by rows.
template <int64_t kLines>
void StreamLines(const Block& block, int64_t ahead) {
  constexpr int64_t kItem = kLines * kLineBytes;
  const hn::ScalableTag<uint8_t> d;
  const int64_t num_a = block.num_a, num_b = block.num_b;
  const int64_t a_step = block.a_step, b_step = block.b_step;
  const int64_t row_step = block.row_step, column_step = block.column_step;
  for (int64_t t = 0; t < block.batch.extent; ++t) {
    const uint8_t* row = block.src + t * block.batch.src_stride + block.rows[0];
    uint8_t* first = block.dst + t * block.batch.dst_stride + block.columns[0];
    for (int64_t a = 0; a < num_a; ++a, row += row_step, first += a_step) {
      const uint8_t* src = row;
      uint8_t* dst = first;
      for (int64_t b = 0; b < num_b; ++b, src += b_step, dst += column_step) {
        HWY_UNROLL(8)
        for (int64_t at = 0; at < kItem; at += kVectorBytes)
          hn::Stream(hn::LoadU(d, src + at), d, dst + at);
        HWY_UNROLL(2)
        for (int64_t at = 0; at < kItem; at += kLineBytes)
          hwy::Prefetch(src + at + ahead);
      }
    }
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

// Moves the items of a block one by one, past the caches.
inline void StreamRows(const Block& block, Prefetcher& prefetcher) {
  if (MoveRowsInLines(block, prefetcher)) return;
#if HWY_TARGET != HWY_SCALAR
  if (const int64_t ahead = prefetcher.Distance();
      ahead != 0 && block.column_step != 0 && AreLines(block) &&
      block.a_step % kLineBytes == 0) {
    if (block.item == kLineBytes) return StreamLines<1>(block, ahead);
    if (block.item == 2 * kLineBytes) return StreamLines<2>(block, ahead);
  }
#endif
  const int64_t item = block.item, lines = PrefetchLines(1, item);
  const Loop batch = block.batch;
#if HWY_TARGET != HWY_SCALAR
  if (block.num_b == 1 && block.a_step == item && item >= 2 * kLineBytes) {
    for (int64_t t = 0; t < batch.extent; ++t) {
      const uint8_t* const src = block.src + t * batch.src_stride;
      RunStreamer streamer(block.dst + t * batch.dst_stride + block.columns[0]);
      for (int64_t a = 0; a < block.num_a; ++a) {
        streamer.Add(src + block.rows[a], item);
        prefetcher.Prefetch(lines);
      }
      streamer.End();
    }
    return;
  }
#endif
  for (int64_t t = 0; t < batch.extent; ++t)
    for (int64_t a = 0; a < block.num_a; ++a)
      for (int64_t b = 0; b < block.num_b; ++b) {
        StreamRun(
            block.dst + t * batch.dst_stride + block.columns[b] +
                a * block.a_step,
            block.src + t * batch.src_stride + block.rows[a] + b * block.b_step,
            item);
        prefetcher.Prefetch(lines);
      }
}

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
