// Interleaving two to four rows, and taking them apart, per SIMD target.
#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/lookup-inl.h"
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

// Calls f(i) for i = 0, step, 2 * step, ..., the last one moved back so that
// it ends at `count`.
// REQUIRES: step <= count.
template <class F>
HWY_INLINE void ForEachStep(int64_t count, int64_t step, F f) {
  int64_t i = 0;
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

// REQUIRES: block.packed, 2 <= num_a <= 4, num_b * sizeof(T) >= 16.
template <class T>
void Interleave(const Block& block) {
  if (InterleaveByLookup<sizeof(T)>(block)) return;
  WithVector<T>(block.num_b, [&](auto d) HWY_ATTR {
    const int64_t items = static_cast<int64_t>(hn::MaxLanes(d));
    auto each = [&](auto move) HWY_ATTR {
      for (int64_t t = 0; t < block.batch.extent; ++t) {
        const uint8_t* src = block.src + t * block.batch.src_stride;
        T* dst = reinterpret_cast<T*>(block.dst + t * block.batch.dst_stride);
        ForEachStep(block.num_b, items, [&](int64_t b) HWY_ATTR {
          move(
              [&](int64_t a) HWY_ATTR {
                return hn::LoadU(
                    d, reinterpret_cast<const T*>(src + block.rows[a]) + b);
              },
              dst + b * block.num_a);
        });
      }
    };
    switch (block.num_a) {
      case 2:
        return each([&](auto row, T* to) HWY_ATTR {
          hn::StoreInterleaved2(row(0), row(1), d, to);
        });
      case 3:
        return each([&](auto row, T* to) HWY_ATTR {
          hn::StoreInterleaved3(row(0), row(1), row(2), d, to);
        });
      default:
        return each([&](auto row, T* to) HWY_ATTR {
          hn::StoreInterleaved4(row(0), row(1), row(2), row(3), d, to);
        });
    }
  });
}

// REQUIRES: rows[a] == a * num_b * sizeof(T), 2 <= num_b <= 4,
//           num_a * sizeof(T) >= 16.
template <class T>
void Deinterleave(const Block& block) {
  if (DeinterleaveByLookup<sizeof(T)>(block)) return;
  WithVector<T>(block.num_a, [&](auto d) HWY_ATTR {
    const int64_t items = static_cast<int64_t>(hn::MaxLanes(d));
    auto each = [&](auto move) HWY_ATTR {
      for (int64_t t = 0; t < block.batch.extent; ++t) {
        const T* src =
            reinterpret_cast<const T*>(block.src + t * block.batch.src_stride);
        uint8_t* dst = block.dst + t * block.batch.dst_stride;
        ForEachStep(block.num_a, items, [&](int64_t a) HWY_ATTR {
          move(src + a * block.num_b, [&](int64_t b, auto x) HWY_ATTR {
            hn::StoreU(x, d, reinterpret_cast<T*>(dst + block.columns[b]) + a);
          });
        });
      }
    };
    hn::Vec<decltype(d)> x, y, z, w;
    switch (block.num_b) {
      case 2:
        return each([&](const T* from, auto store) HWY_ATTR {
          hn::LoadInterleaved2(d, from, x, y);
          store(0, x), store(1, y);
        });
      case 3:
        return each([&](const T* from, auto store) HWY_ATTR {
          hn::LoadInterleaved3(d, from, x, y, z);
          store(0, x), store(1, y), store(2, z);
        });
      default:
        return each([&](const T* from, auto store) HWY_ATTR {
          hn::LoadInterleaved4(d, from, x, y, z, w);
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
