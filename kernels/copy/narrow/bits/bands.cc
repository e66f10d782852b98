#include "kernels/copy/narrow/bits/bands.h"

#include <algorithm>

#include "kernels/copy/block.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/copy/narrow/bits/bands.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/copy/narrow/bits/funnel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// So many bands ahead rows are prefetched: what a block has of one is too
// short for a core to foresee it.
constexpr int64_t kLead = 2;

// Of two rows of fields of kField bits, the even fields of both and the odd
// ones, if the first field of a byte is in its high bits: exchanges the odd
// ones of the first row for the even ones of the second.
template <int kField, class D, class V>
HWY_INLINE void SwapFields(D d, V& first, V& second) {
  constexpr uint8_t kOdd = kField == 4 ? 0x0f : kField == 2 ? 0x33 : 0x55;
  auto right = [](auto x) HWY_ATTR { return hn::ShiftRight<kField>(x); };
  auto left = [](auto x) HWY_ATTR { return hn::ShiftLeft<kField>(x); };
  const V differ =
      hn::And(hn::Xor(first, ShiftPairs(d, second, right)), hn::Set(d, kOdd));
  first = hn::Xor(first, differ);
  second = hn::Xor(second, ShiftPairs(d, differ, left));
}

template <int kField, int kRows, class D, class V>
HWY_INLINE void SwapRows(D d, V (&x)[kRows]) {
  constexpr int kFar = kRows * kField / 8;
  for (int i = 0; i < kRows; ++i)
    if ((i & kFar) == 0) SwapFields<kField>(d, x[i], x[i + kFar]);
}

// Transposes the squares of kRows rows of `bytes` bytes, a byte of which has as
// many elements: what was element k of row i is element i of row k. Calls
// load(row, byte) and store(row, byte, vector); the last vector of a row may
// have bytes of the one before it, too.
template <int kRows, bool kHighFirst, class D, class Load, class Store>
HWY_INLINE void TransposeRows(D d, int64_t bytes, Load load, Store store) {
  const int64_t lanes = static_cast<int64_t>(hn::MaxLanes(d));
  const int64_t last = bytes - lanes;
  for (int64_t at = 0;; at = std::min(at + lanes, last)) {
    hn::Vec<D> x[kRows];
    for (int i = 0; i < kRows; ++i)
      x[kHighFirst ? i : kRows - 1 - i] = load(i, at);
    SwapRows<4>(d, x);
    if constexpr (kRows >= 4) SwapRows<2>(d, x);
    if constexpr (kRows >= 8) SwapRows<1>(d, x);
    for (int i = 0; i < kRows; ++i)
      store(i, at, x[kHighFirst ? i : kRows - 1 - i]);
    if (at == last) return;
  }
}

template <int kRows, bool kHighFirst, bool kWhole, class D>
void TransposeAll(D d, const Bands bands, const uint8_t* src, uint8_t* dst) {
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  static_assert(kLanes <= Bands::kSlack);
  Funnel<kHighFirst, D> in[kRows], out[kRows];
  for (int i = 0; i < kRows && !kWhole; ++i) {
    in[i] = {d, bands.from[i]};
    out[i] = {d, 8 - bands.to[i]};
  }
  for (int64_t band = 0; band < bands.count; ++band) {
    const uint8_t* const ahead = src + kLead * bands.step;
    if (band + kLead < bands.count)
      for (int64_t at = 0; at < bands.bytes; at += kLineBytes)
        for (int i = 0; i < kRows; ++i)
          hwy::Prefetch(ahead + bands.rows[i] + at);
    TransposeRows<kRows, kHighFirst>(
        d, bands.bytes,
        [&](int i, int64_t at) HWY_ATTR {
          const uint8_t* const row = src + bands.rows[i] + at;
          if constexpr (kWhole) {
            return hn::LoadU(d, row);
          } else {
            return in[i](hn::LoadU(d, row), hn::LoadU(d, row + 1));
          }
        },
        [&](int i, int64_t at, auto x) HWY_ATTR {
          uint8_t* const result = dst + i * bands.result + at;
          if constexpr (kWhole) {
            hn::StoreU(x, d, result);
          } else {
            // A vector each, those of bytes that others have, too.
            const int64_t place = (at + kLanes - 1) / kLanes * kLanes;
            uint8_t* const last = bands.last + place * kRows + i * kLanes;
            hn::StoreU(out[i](hn::LoadU(d, last), x), d, result);
            hn::StoreU(x, d, last);
          }
        });
    src += bands.step, dst += bands.pitch;
  }
}

template <class D>
void TransposeOf(D d, int64_t item_bits, const Bands& bands, const uint8_t* src,
                 uint8_t* dst) {
  const bool whole = bands.last == nullptr;
  if (item_bits == 4) {
    return whole ? TransposeAll<2, false, true>(d, bands, src, dst)
                 : TransposeAll<2, false, false>(d, bands, src, dst);
  }
  if (item_bits == 2) {
    return whole ? TransposeAll<4, true, true>(d, bands, src, dst)
                 : TransposeAll<4, true, false>(d, bands, src, dst);
  }
  whole ? TransposeAll<8, true, true>(d, bands, src, dst)
        : TransposeAll<8, true, false>(d, bands, src, dst);
}

// With the widest vectors that a row fills.
void TransposeBandsOf(int64_t item_bits, const Bands& bands, const uint8_t* src,
                      uint8_t* dst) {
  const auto fills = [&](auto d) HWY_ATTR {
    return bands.bytes >= static_cast<int64_t>(hn::MaxLanes(d));
  };
  const hn::ScalableTag<uint8_t> d;
  if (fills(d)) return TransposeOf(d, item_bits, bands, src, dst);
  const hn::CappedTag<uint8_t, 16> half;
  if (fills(half)) return TransposeOf(half, item_bits, bands, src, dst);
  const hn::CappedTag<uint8_t, 8> eight;
  if (fills(eight)) return TransposeOf(eight, item_bits, bands, src, dst);
  const hn::CappedTag<uint8_t, 4> four;
  if (fills(four)) return TransposeOf(four, item_bits, bands, src, dst);
  TransposeOf(hn::CappedTag<uint8_t, 1>(), item_bits, bands, src, dst);
}

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace axis {

HWY_EXPORT(TransposeBandsOf);

void TransposeBands(int64_t item_bits, const Bands& bands, const uint8_t* src,
                    uint8_t* dst) {
  HWY_DYNAMIC_DISPATCH(TransposeBandsOf)(item_bits, bands, src, dst);
}

}  // namespace axis
#endif  // HWY_ONCE
