#include "kernels/copy/narrow/bits/square_rows.h"

#include <algorithm>

#include "kernels/copy/block.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/copy/narrow/bits/square_rows.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/copy/narrow/bits/funnel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// So many squares ahead rows are prefetched: what a block has of one is too
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

// kIn, kOut: whether rows and results begin inside bytes.
template <int kRows, bool kHighFirst, bool kIn, bool kOut, class D>
void TransposeAll(D d, const SquareRows squares, const uint8_t* src,
                  uint8_t* dst) {
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  static_assert(kLanes <= SquareRows::kSlack);
  Funnel<kHighFirst, D> in[kRows], out[kRows];
  for (int i = 0; i < kRows; ++i) {
    if constexpr (kIn) in[i] = {d, squares.from[i]};
    if constexpr (kOut) out[i] = {d, 8 - squares.to[i]};
  }
  for (int64_t i = 0; i < squares.count; ++i) {
    const uint8_t* const ahead = src + kLead * squares.step;
    if (i + kLead < squares.count)
      for (int64_t at = 0; at < squares.bytes; at += kLineBytes)
        for (int r = 0; r < kRows; ++r)
          hwy::Prefetch(ahead + squares.rows[r] + at);
    TransposeRows<kRows, kHighFirst>(
        d, squares.bytes,
        [&](int r, int64_t at) HWY_ATTR {
          const uint8_t* const row = src + squares.rows[r] + at;
          if constexpr (kIn) {
            return in[r](hn::LoadU(d, row), hn::LoadU(d, row + 1));
          } else {
            return hn::LoadU(d, row);
          }
        },
        [&](int r, int64_t at, auto x) HWY_ATTR {
          uint8_t* const result = dst + r * squares.result + at;
          if constexpr (kOut) {
            // A vector each, those of bytes that others have, too.
            const int64_t place = (at + kLanes - 1) / kLanes * kLanes;
            uint8_t* const last = squares.last + place * kRows + r * kLanes;
            hn::StoreU(out[r](hn::LoadU(d, last), x), d, result);
            hn::StoreU(x, d, last);
          } else {
            hn::StoreU(x, d, result);
          }
        });
    src += squares.step, dst += squares.pitch;
  }
}

template <int kRows, bool kHighFirst, class D>
void TransposeOf(D d, const SquareRows& squares, const uint8_t* src,
                 uint8_t* dst) {
  const auto begins_inside = [](const auto& bits) {
    return std::any_of(bits.begin(), bits.end(), [](int b) { return b != 0; });
  };
  const bool in = begins_inside(squares.from), out = begins_inside(squares.to);
  if (in && out)
    return TransposeAll<kRows, kHighFirst, true, true>(d, squares, src, dst);
  if (in)
    return TransposeAll<kRows, kHighFirst, true, false>(d, squares, src, dst);
  if (out)
    return TransposeAll<kRows, kHighFirst, false, true>(d, squares, src, dst);
  TransposeAll<kRows, kHighFirst, false, false>(d, squares, src, dst);
}

template <class D>
void TransposeWith(D d, int64_t item_bits, const SquareRows& squares,
                   const uint8_t* src, uint8_t* dst) {
  if (item_bits == 4) return TransposeOf<2, false>(d, squares, src, dst);
  if (item_bits == 2) return TransposeOf<4, true>(d, squares, src, dst);
  TransposeOf<8, true>(d, squares, src, dst);
}

// With the widest vectors that a row fills.
void TransposeSquareRowsOf(int64_t item_bits, const SquareRows& squares,
                           const uint8_t* src, uint8_t* dst) {
  const auto fills = [&](auto d) HWY_ATTR {
    return squares.bytes >= static_cast<int64_t>(hn::MaxLanes(d));
  };
  const hn::ScalableTag<uint8_t> d;
  if (fills(d)) return TransposeWith(d, item_bits, squares, src, dst);
  const hn::CappedTag<uint8_t, 16> half;
  if (fills(half)) return TransposeWith(half, item_bits, squares, src, dst);
  const hn::CappedTag<uint8_t, 8> eight;
  if (fills(eight)) return TransposeWith(eight, item_bits, squares, src, dst);
  const hn::CappedTag<uint8_t, 4> four;
  if (fills(four)) return TransposeWith(four, item_bits, squares, src, dst);
  TransposeWith(hn::CappedTag<uint8_t, 1>(), item_bits, squares, src, dst);
}

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace axis {

HWY_EXPORT(TransposeSquareRowsOf);

void TransposeSquareRows(int64_t item_bits, const SquareRows& squares,
                         const uint8_t* src, uint8_t* dst) {
  HWY_DYNAMIC_DISPATCH(TransposeSquareRowsOf)(item_bits, squares, src, dst);
}

}  // namespace axis
#endif  // HWY_ONCE
