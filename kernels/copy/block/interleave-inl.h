// Interleaving two to four rows, and taking them apart, per SIMD target.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/lookup/lines-inl.h"
#include "kernels/copy/block/lookup/lookup-inl.h"
#include "kernels/copy/block/runs-inl.h"

#if defined(AXIS_BLOCK_INTERLEAVE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_INTERLEAVE_INL_H_
#undef AXIS_BLOCK_INTERLEAVE_INL_H_
#else
#define AXIS_BLOCK_INTERLEAVE_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

template <class T>
void Interleave(const Block& block) {
  for (int64_t t = 0; t < block.batch.extent; ++t)
    for (int64_t a = 0; a < block.num_a; ++a) {
      const uint8_t* src =
          block.src + t * block.batch.src_stride + block.rows[a];
      uint8_t* dst =
          block.dst + t * block.batch.dst_stride + a * int64_t{sizeof(T)};
      for (int64_t b = 0; b < block.num_b; ++b, src += sizeof(T))
        CopyFixed<sizeof(T)>(dst + b * block.num_a * int64_t{sizeof(T)}, src);
    }
}
template <class T>
void Deinterleave(const Block& block) {
  for (int64_t t = 0; t < block.batch.extent; ++t)
    for (int64_t b = 0; b < block.num_b; ++b) {
      const uint8_t* src =
          block.src + t * block.batch.src_stride + b * int64_t{sizeof(T)};
      uint8_t* dst = block.dst + t * block.batch.dst_stride + block.columns[b];
      for (int64_t a = 0; a < block.num_a; ++a, dst += sizeof(T))
        CopyFixed<sizeof(T)>(dst, src + a * block.num_b * int64_t{sizeof(T)});
    }
}

#else

// Calls f(i) for i = begin, begin + step, ..., the last one moved back so that
// it ends at `count`.
// REQUIRES: step <= count.
template <class F>
HWY_INLINE void ForEachStep(int64_t begin, int64_t count, int64_t step, F f) {
  int64_t i = begin;
  for (; i + step <= count; i += step) f(i);
  if (i < count) f(count - step);
}

// Calls f(vector tag) for the widest vector that has at most `count` items.
// REQUIRES: count is that of a 128-bit vector or more.
template <class T, int64_t kBytes = kVectorBytes, class F>
HWY_INLINE void WithVector(int64_t count, F f) {
  constexpr int64_t kItems = kBytes / int64_t{sizeof(T)};
  if constexpr (kBytes > 16)
    if (count < kItems) return WithVector<T, kBytes / 2>(count, f);
  f(hn::FixedTag<T, static_cast<size_t>(kItems)>());
}

// Copies `count` items past the caches.
// REQUIRES: both sides are aligned to vectors, and `count` is whole ones.
template <class D, class T>
HWY_INLINE void StreamVectors(D d, const T* from, int64_t count, T* to) {
  constexpr int64_t kItems = static_cast<int64_t>(hn::MaxLanes(D()));
  HWY_UNROLL(4)
  for (int64_t i = 0; i < count; i += kItems)
    hn::Stream(hn::Load(d, from + i), d, to + i);
}

// Rows are asked for so many bytes before they are interleaved past the caches:
// the machine does not foresee those of short repetitions.
inline constexpr int64_t kRowsAhead = 2048;

// Interleaves kRows rows of `num_b` items; kStream: as far as whole vectors go,
// past the caches, asking for those that are `ahead` bytes ahead if not 0.
template <bool kStream, class D, class T, size_t kRows, class F>
HWY_INLINE void InterleaveRows(D d, const std::array<const T*, kRows> rows,
                               int64_t num_b, int64_t ahead, T* dst,
                               F interleave) {
  constexpr int64_t kItems = static_cast<int64_t>(hn::MaxLanes(D()));
  constexpr int64_t kNumA = kRows;
  auto row_at = [=](int64_t b) HWY_ATTR {
    return [=](size_t a) HWY_ATTR { return hn::LoadU(d, rows[a] + b); };
  };
  int64_t b = 0;
  if constexpr (kStream) {
    HWY_ALIGN T vectors[kNumA * kItems];  // Highway interleaves to memory only
    for (; b + kItems <= num_b; b += kItems) {
      if (ahead != 0)
        for (const T* row : rows)
          hwy::Prefetch(reinterpret_cast<const uint8_t*>(row + b) + ahead);
      interleave(d, row_at(b), vectors);
      StreamVectors(d, vectors, kNumA * kItems, dst + b * kNumA);
    }
    // A line that has just been streamed must not be touched again: it would
    // be waited for until it is in memory, and read back.
    const int64_t left = num_b - b;
    if (left * kNumA % kItems == 0) {
      if (left > 0) interleave(d, row_at(num_b - kItems), vectors);
      return StreamVectors(d, vectors + (kItems - left) * kNumA, left * kNumA,
                           dst + b * kNumA);
    }
  }
  ForEachStep(b, num_b, kItems, [=](int64_t at) HWY_ATTR {
    interleave(d, row_at(at), dst + at * kNumA);
  });
}

// To look up rows up to here takes longer than to interleave them in registers,
// half a line of each at a time.
inline constexpr int64_t kShortRows = 1024;

// REQUIRES: block.packed, 2 <= num_a <= 4, num_b * sizeof(T) >= 16.
template <class T>
void Interleave(const Block& block) {
  if (InterleaveInLines<sizeof(T)>(block)) return;
  const Loop batch = block.batch;
  const int64_t num_b = block.num_b;
  const bool are_short =
      !block.stream && num_b * int64_t{sizeof(T)} <= kShortRows;
  if (!are_short && InterleaveByLookup<sizeof(T)>(block)) return;
  const int64_t most = are_short ? kLineBytes / 2 / int64_t{sizeof(T)} : num_b;
  uint8_t* const to = block.dst;
  const bool stream = block.stream && StartsAtLines(block);
  const int64_t ahead =
      batch.extent == 1
          ? 0
          : (kRowsAhead / batch.src_stride + 1) * batch.src_stride;
  WithVector<T>(std::min(num_b, most), [&](auto d) HWY_ATTR {
    // Nothing by reference: to look it up for each takes as long as to move
    // repetitions that are short.
    auto each = [=, &block](auto num_a, auto interleave) HWY_ATTR {
      std::array<const uint8_t*, num_a()> begins;
      for (size_t a = 0; a < num_a(); ++a)
        begins[a] = block.src + block.rows[a];
      for (int64_t t = 0; t < batch.extent; ++t) {
        std::array<const T*, num_a()> rows;
        for (size_t a = 0; a < num_a(); ++a)
          rows[a] =
              reinterpret_cast<const T*>(begins[a] + t * batch.src_stride);
        T* dst = reinterpret_cast<T*>(to + t * batch.dst_stride);
        stream ? InterleaveRows<true>(d, rows, num_b, ahead, dst, interleave)
               : InterleaveRows<false>(d, rows, num_b, 0, dst, interleave);
      }
    };
    switch (block.num_a) {
      case 2:
        return each(std::integral_constant<size_t, 2>(),
                    [](auto tag, auto row, T* to) HWY_ATTR {
                      hn::StoreInterleaved2(row(0), row(1), tag, to);
                    });
      case 3:
        return each(std::integral_constant<size_t, 3>(),
                    [](auto tag, auto row, T* to) HWY_ATTR {
                      hn::StoreInterleaved3(row(0), row(1), row(2), tag, to);
                    });
      default:
        return each(std::integral_constant<size_t, 4>(), [](auto tag, auto row,
                                                            T* to) HWY_ATTR {
          hn::StoreInterleaved4(row(0), row(1), row(2), row(3), tag, to);
        });
    }
  });
}

// Past the caches so many lines of a column are written in one go. Line by
// line, columns a multiple of a page apart were half as fast, and more lines no
// faster.
inline constexpr int64_t kLinesInOneGo = 8;

// Takes items apart from item `a` of the columns on, by way of kLines lines of
// each that are then written past the caches, as far as such go; returns how
// far that is.
template <int64_t kLines, class D, class T, size_t kColumns, class F>
HWY_INLINE int64_t StreamColumns(D d, const T* src, int64_t a, int64_t num_a,
                                 const std::array<T*, kColumns>& columns,
                                 F take_apart) {
  constexpr int64_t kVector = static_cast<int64_t>(hn::MaxLanes(D()));
  constexpr int64_t kItems = kLines * kLineBytes / int64_t{sizeof(T)};
  for (; a + kItems <= num_a; a += kItems) {
    HWY_ALIGN T lines[kColumns][kItems];
    for (int64_t i = 0; i < kItems; i += kVector)
      take_apart(d, src + (a + i) * int64_t{kColumns},
                 [&](size_t b, auto x)
                     HWY_ATTR { hn::Store(x, d, lines[b] + i); });
    for (size_t b = 0; b < kColumns; ++b)
      StreamVectors(d, lines[b], kItems, columns[b] + a);
  }
  return a;
}

// Takes `num_a` times kColumns items apart to what begins `offset` bytes into
// the columns; kStream: as far as whole lines go, past the caches.
template <bool kStream, class D, class T, size_t kColumns, class F>
HWY_INLINE void DeinterleaveColumns(
    D d, const T* src, int64_t num_a,
    const std::array<uint8_t*, kColumns> columns, int64_t offset,
    F take_apart) {
  constexpr int64_t kVector = static_cast<int64_t>(hn::MaxLanes(D()));
  int64_t a = 0;
  if constexpr (kStream) {
    std::array<T*, kColumns> to;
    for (size_t b = 0; b < kColumns; ++b)
      to[b] = reinterpret_cast<T*>(columns[b] + offset);
    a = StreamColumns<kLinesInOneGo>(d, src, a, num_a, to, take_apart);
    a = StreamColumns<1>(d, src, a, num_a, to, take_apart);
  }
  ForEachStep(a, num_a, kVector, [=](int64_t at) HWY_ATTR {
    const int64_t place = offset + at * int64_t{sizeof(T)};
    take_apart(d, src + at * int64_t{kColumns}, [=](size_t b, auto x) HWY_ATTR {
      hn::StoreU(x, d, reinterpret_cast<T*>(columns[b] + place));
    });
  });
}

// REQUIRES: rows[a] == a * num_b * sizeof(T), 2 <= num_b <= 4,
//           num_a * sizeof(T) >= 16.
template <class T>
void Deinterleave(const Block& block) {
  if (DeinterleaveInLines<sizeof(T)>(block)) return;
  if (DeinterleaveByLookup<sizeof(T)>(block)) return;
  const Loop batch = block.batch;
  const int64_t num_a = block.num_a;
  const uint8_t* const from = block.src;
  const bool stream = block.stream && AreLines(block);
  WithVector<T>(num_a, [&](auto d) HWY_ATTR {
    // As above; and the same places for all repetitions.
    auto each = [=, &block](auto num_b, auto take_apart) HWY_ATTR {
      std::array<uint8_t*, num_b()> columns;
      for (size_t b = 0; b < num_b(); ++b)
        columns[b] = block.dst + block.columns[b];
      for (int64_t t = 0; t < batch.extent; ++t) {
        const T* src = reinterpret_cast<const T*>(from + t * batch.src_stride);
        const int64_t offset = t * batch.dst_stride;
        stream ? DeinterleaveColumns<true>(d, src, num_a, columns, offset,
                                           take_apart)
               : DeinterleaveColumns<false>(d, src, num_a, columns, offset,
                                            take_apart);
      }
    };
    switch (block.num_b) {
      case 2:
        return each(std::integral_constant<size_t, 2>(),
                    [](auto tag, const T* from, auto store) HWY_ATTR {
                      hn::Vec<decltype(tag)> x, y;
                      hn::LoadInterleaved2(tag, from, x, y);
                      store(0, x), store(1, y);
                    });
      case 3:
        return each(std::integral_constant<size_t, 3>(),
                    [](auto tag, const T* from, auto store) HWY_ATTR {
                      hn::Vec<decltype(tag)> x, y, z;
                      hn::LoadInterleaved3(tag, from, x, y, z);
                      store(0, x), store(1, y), store(2, z);
                    });
      default:
        return each(std::integral_constant<size_t, 4>(),
                    [](auto tag, const T* from, auto store) HWY_ATTR {
                      hn::Vec<decltype(tag)> x, y, z, w;
                      hn::LoadInterleaved4(tag, from, x, y, z, w);
                      store(0, x), store(1, y), store(2, z), store(3, w);
                    });
    }
  });
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
