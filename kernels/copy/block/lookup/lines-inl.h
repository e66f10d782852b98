// Rows, columns and runs that begin within lines, and are streamed in whole
// ones all the same, per SIMD target: of instructions that look up.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/lookup/line_stream-inl.h"
#include "kernels/copy/block/lookup/lookup-inl.h"
#include "kernels/copy/block/pieces-inl.h"
#include "kernels/copy/block/prefetch.h"

#if defined(AXIS_BLOCK_LINES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_LINES_INL_H_
#undef AXIS_BLOCK_LINES_INL_H_
#else
#define AXIS_BLOCK_LINES_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3_DL

// Interleaves kRows rows as InterleaveLines() does, but streams them wherever
// repetitions start.
template <int64_t kItem, int64_t kRows>
void InterleaveRealigned(const Block& block) {
  const Shuffler<kRows> shuffle(Interleaving<kItem, kRows>::kTogether.data());
  const int64_t run = block.num_b * kItem;
  const int64_t whole = run / kLineBytes * kLineBytes;
  const auto rest = hn::FirstN(Bytes(), static_cast<size_t>(run - whole));
  int64_t rows[kRows];
  std::copy_n(block.rows, kRows, rows);
  const Loop batch = block.batch;
  LineStream<Lane<kItem>> stream(block.dst);
  for (int64_t t = 0; t < batch.extent; ++t) {
    const uint8_t* const src = block.src + t * batch.src_stride;
    stream.Begin(block.dst + t * batch.dst_stride);
    for (int64_t at = 0; at < whole; at += kLineBytes)
      shuffle([&](int64_t a)
                  HWY_ATTR { return hn::LoadU(Bytes(), src + rows[a] + at); },
              [&](int64_t, BytesVec x) HWY_ATTR { stream.Put(x); });
    if (whole == run) continue;
    shuffle(
        [&](int64_t a) HWY_ATTR {
          return hn::MaskedLoad(rest, Bytes(), src + rows[a] + whole);
        },
        [&](int64_t i, BytesVec x) HWY_ATTR {
          stream.PutUpTo(x, (run - whole) * kRows - i * kLineBytes);
        });
  }
  stream.End();
}

// What is left of kRows columns, less than a line of each, where they are still
// interleaved.
template <int64_t kRows>
class Remainder {
 public:
  explicit Remainder(int64_t bytes) : bytes_(bytes) {
    for (int64_t i = 0; i < kRows; ++i)
      masks_[i] = hn::FirstN(
          Bytes(), static_cast<size_t>(std::clamp<int64_t>(
                       bytes * kRows - i * kLineBytes, 0, kLineBytes)));
  }

  int64_t bytes() const { return bytes_; }  // of each column

  // Loads the i-th vector of what begins at `src`.
  HWY_INLINE auto From(const uint8_t* src) const {
    return [this, src](int64_t i) HWY_ATTR {
      return hn::MaskedLoad(masks_[i], Bytes(), src + i * kLineBytes);
    };
  }

 private:
  int64_t bytes_;
  hn::Mask<Bytes> masks_[kRows];
};

// So many lines of a column are written in one go: line by line, columns a
// multiple of a page apart take longer.
inline constexpr int64_t kLinesAtOnce = 4;

// Takes kRows columns apart as DeinterleaveLines() does, but streams them
// wherever they start.
template <int64_t kItem, int64_t kRows>
void DeinterleaveRealigned(const Block& block) {
  using Stream = LineStream<Lane<kItem>>;
  const Shuffler<kRows> shuffle(Interleaving<kItem, kRows>::kApart.data());
  const int64_t run = block.num_a * kItem;
  const Remainder<kRows> rest(run % kLineBytes);
  int64_t columns[kRows];
  std::copy_n(block.columns, kRows, columns);
  Stream streams[kRows];
  for (int64_t b = 0; b < kRows; ++b)
    streams[b] = Stream(block.dst + columns[b]);
  const Loop batch = block.batch;
  for (int64_t t = 0; t < batch.extent; ++t) {
    const uint8_t* src = block.src + t * batch.src_stride;
    for (int64_t b = 0; b < kRows; ++b)
      streams[b].Begin(block.dst + t * batch.dst_stride + columns[b]);
    auto load = [&](int64_t i) HWY_ATTR {
      return hn::LoadU(Bytes(), src + i * kLineBytes);
    };
    int64_t left = run / kLineBytes;
    for (; left >= kLinesAtOnce; left -= kLinesAtOnce) {
      BytesVec lines[kRows][kLinesAtOnce];
      HWY_UNROLL(4)
      for (int64_t line = 0; line < kLinesAtOnce; ++line) {
        shuffle(load,
                [&](int64_t b, BytesVec x) HWY_ATTR { lines[b][line] = x; });
        src += kRows * kLineBytes;
      }
      HWY_UNROLL(4)
      for (int64_t b = 0; b < kRows; ++b) {
        HWY_UNROLL(4)
        for (BytesVec line : lines[b]) streams[b].Put(line);
      }
    }
    for (; left > 0; --left, src += kRows * kLineBytes)
      shuffle(load, [&](int64_t b, BytesVec x) HWY_ATTR { streams[b].Put(x); });
    if (rest.bytes() == 0) continue;
    shuffle(rest.From(src), [&](int64_t b, BytesVec x) HWY_ATTR {
      streams[b].PutPart(x, rest.bytes());
    });
  }
  for (const Stream& stream : streams) stream.End();
}

// Columns up to here that follow one another are better written so.
inline constexpr int64_t kColumnInOrder = 2048;

// The same for columns that follow one another: one after the other, so that no
// line is written in parts.
template <int64_t kItem, int64_t kRows>
void DeinterleaveInOrder(const Block& block) {
  const Shuffler<kRows> shuffle(Interleaving<kItem, kRows>::kApart.data());
  const int64_t run = block.num_a * kItem;
  const Remainder<kRows> rest(run % kLineBytes);
  const Loop batch = block.batch;
  LineStream<Lane<kItem>> stream(block.dst);
  for (int64_t t = 0; t < batch.extent; ++t) {
    const uint8_t* const begin = block.src + t * batch.src_stride;
    stream.Begin(block.dst + t * batch.dst_stride);
    HWY_UNROLL(4)
    for (int64_t b = 0; b < kRows; ++b) {
      const uint8_t* src = begin;
      for (int64_t left = run / kLineBytes; left > 0;
           --left, src += kRows * kLineBytes)
        stream.Put(shuffle.One(b, [&](int64_t i) HWY_ATTR {
          return hn::LoadU(Bytes(), src + i * kLineBytes);
        }));
      if (rest.bytes() > 0)
        stream.PutPart(shuffle.One(b, rest.From(src)), rest.bytes());
    }
  }
  stream.End();
}

// Shuffles runs that follow one another as ShuffleSteps() does, but streams
// them.
template <int64_t kVectors>
void ShuffleRealigned(const uint8_t* src, uint8_t* dst, int64_t bytes,
                      int64_t step, const uint8_t* places) {
  const Shuffler<kVectors> shuffle(places);
  constexpr int64_t kWidth = kVectors * kLineBytes;
  LineStream<uint8_t> stream(dst);
  auto shuffle_step = [&](const uint8_t* from, int64_t part) HWY_ATTR {
    shuffle([&](int64_t i)
                HWY_ATTR { return hn::LoadU(Bytes(), from + i * kLineBytes); },
            [&](int64_t i, BytesVec x)
                HWY_ATTR { stream.PutUpTo(x, part - i * kLineBytes); });
  };
  for (; bytes >= kWidth; bytes -= step, src += step) shuffle_step(src, step);
  for (; bytes > 0; bytes -= step, src += step) {
    HWY_ALIGN uint8_t x[kWidth];
    const int64_t part = std::min(bytes, step);
    std::memcpy(x, src, static_cast<size_t>(part));
    shuffle_step(x, part);
  }
  stream.End();
}

// Moves items that follow one another in columns one by one, and streams them.
inline void MoveRowsRealigned(const Block& block, Prefetcher& prefetcher) {
  const int64_t item = block.item, lines = PrefetchLines(1, item);
  const int64_t whole = item / kLineBytes * kLineBytes;
  const auto rest = hn::FirstN(Bytes(), static_cast<size_t>(item - whole));
  const Loop batch = block.batch;
  LineStream<uint8_t> stream(block.dst + block.columns[0]);
  for (int64_t t = 0; t < batch.extent; ++t)
    for (int64_t b = 0; b < block.num_b; ++b) {
      const uint8_t* const src =
          block.src + t * batch.src_stride + b * block.b_step;
      stream.Begin(block.dst + t * batch.dst_stride + block.columns[b]);
      for (int64_t a = 0; a < block.num_a; ++a) {
        const uint8_t* const from = src + block.rows[a];
        for (int64_t at = 0; at < whole; at += kLineBytes)
          stream.Put(hn::LoadU(Bytes(), from + at));
        if (whole < item)
          stream.PutPart(hn::MaskedLoad(rest, Bytes(), from + whole),
                         item - whole);
        prefetcher.Prefetch(lines);
      }
    }
  stream.End();
}

// These return false where lines are not put together.
template <int64_t kItem>
bool InterleaveInLines(const Block& block) {
  if (!block.realigns || !StartsAt(block, LaneBytes(kItem))) return false;
  WithConstant(block.num_a, [&](auto rows) HWY_ATTR {
    InterleaveRealigned<kItem, rows()>(block);
  });
  return true;
}

template <int64_t kItem>
bool DeinterleaveInLines(const Block& block) {
  if (!block.realigns || !AreAligned(block)) return false;
  const bool in_order = block.packed && block.num_a * kItem <= kColumnInOrder;
  WithConstant(block.num_b, [&](auto rows) HWY_ATTR {
    in_order ? DeinterleaveInOrder<kItem, rows()>(block)
             : DeinterleaveRealigned<kItem, rows()>(block);
  });
  return true;
}

inline bool MoveRowsInLines(const Block& block, Prefetcher& prefetcher) {
  if (!block.realigns) return false;
  MoveRowsRealigned(block, prefetcher);
  return true;
}

inline bool ShuffleInLines(const Block& block, const uint8_t* places) {
  if (!block.stream) return false;
  const int64_t step = ShuffleStep(block.item);
  WithConstant((step + kLineBytes - 1) / kLineBytes, [&](auto n) HWY_ATTR {
    ShuffleRealigned<n()>(block.src, block.dst, block.batch.extent * block.item,
                          step, places);
  });
  return true;
}

#else

template <int64_t kItem>
bool InterleaveInLines(const Block&) {
  return false;
}
template <int64_t kItem>
bool DeinterleaveInLines(const Block&) {
  return false;
}
inline bool MoveRowsInLines(const Block&, Prefetcher&) { return false; }
inline bool ShuffleInLines(const Block&, const uint8_t*) { return false; }

#endif  // HWY_TARGET == HWY_AVX3_DL

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
