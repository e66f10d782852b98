#include "kernels/copy/narrow/bits/shift.h"

#include <algorithm>

#include "kernels/copy/block.h"
#include "kernels/copy/narrow/bits/bit_order.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/copy/narrow/bits/shift.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/copy/narrow/bits/funnel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// So many rows ahead lines are prefetched: rows are too short for a core to
// foresee what comes next.
constexpr int64_t kLead = 8;

// Copies `bits` bits, a byte of the destination or less, from bit `from` of
// `src` to bit `to` of `dst`.
template <bool kHighFirst>
HWY_INLINE void MergeByte(const uint8_t* src, int from, uint8_t* dst, int to,
                          int bits) {
  // Where src[1] holds none of them, what stands for it is masked.
  const unsigned byte = Sooner<kHighFirst>(src[0], from) |
                        Later<kHighFirst>(src[from + bits > 8], 8 - from);
  const uint8_t mask =
      Later<kHighFirst>(Later<!kHighFirst>(0xff, 8 - bits), to);
  *dst = static_cast<uint8_t>((*dst & ~mask) |
                              (Later<kHighFirst>(byte, to) & mask));
}

// Whole bytes of the destination, whose bits begin at bit `from` of `src`:
// `bytes` of them, at least as many as `d` has lanes. Returns once all are
// done; the last vector may write some of them again.
template <bool kHighFirst, class D>
HWY_INLINE void ShiftVectors(D d, const uint8_t* src, int from, int64_t bytes,
                             uint8_t* dst) {
  const Funnel<kHighFirst, D> funnel(d, from);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t last = bytes - lanes;
  for (int64_t at = 0;; at = std::min(at + lanes, last)) {
    hn::StoreU(funnel(hn::LoadU(d, src + at), hn::LoadU(d, src + at + 1)), d,
               dst + at);
    if (at == last) return;
  }
}

// Such bytes, any number of them. Reads `bytes` + 1 bytes.
template <bool kHighFirst>
HWY_INLINE void ShiftBytes(const uint8_t* src, int from, int64_t bytes,
                           uint8_t* dst) {
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint8_t> d;
  if (bytes >= static_cast<int64_t>(hn::Lanes(d)))
    return ShiftVectors<kHighFirst>(d, src, from, bytes, dst);
  const hn::CappedTag<uint8_t, 16> half;
  if (bytes >= static_cast<int64_t>(hn::Lanes(half)))
    return ShiftVectors<kHighFirst>(half, src, from, bytes, dst);
  const hn::CappedTag<uint8_t, 8> eight;
  if (bytes >= static_cast<int64_t>(hn::Lanes(eight)))
    return ShiftVectors<kHighFirst>(eight, src, from, bytes, dst);
#endif
  for (int64_t i = 0; i < bytes; ++i)
    dst[i] = static_cast<uint8_t>(Sooner<kHighFirst>(src[i], from) |
                                  Later<kHighFirst>(src[i + 1], 8 - from));
}

// Copies `bits` bits from bit `from` of `src` to bit `to` of `dst`. The first
// byte and the last are always merged, the last one even if it is whole: each
// row begins elsewhere, and a core cannot guess what it needs.
template <bool kHighFirst>
HWY_INLINE void ShiftRow(const uint8_t* src, int64_t from, int64_t bits,
                         uint8_t* dst, int64_t to) {
  const int into = static_cast<int>(to & 7);
  const int head = static_cast<int>(std::min<int64_t>(8 - into, bits));
  src += from >> 3, dst += to >> 3;
  MergeByte<kHighFirst>(src, static_cast<int>(from & 7), dst++, into, head);
  bits -= head;
  if (bits == 0) return;
  const int phase = static_cast<int>((from & 7) + head);
  src += phase >> 3;
  const int64_t bytes = (bits - 1) >> 3;
  ShiftBytes<kHighFirst>(src, phase & 7, bytes, dst);
  MergeByte<kHighFirst>(src + bytes, phase & 7, dst + bytes, 0,
                        static_cast<int>(bits - 8 * bytes));
}

template <bool kHighFirst>
void ShiftAll(int64_t item_bits, const ShiftedRows& rows, const uint8_t* src,
              uint8_t* dst) {
  int64_t from = rows.from * item_bits, to = rows.to * item_bits;
  const int64_t bits = rows.items * item_bits;
  const int64_t src_step = rows.src_stride * item_bits;
  const int64_t dst_step = rows.dst_stride * item_bits;
  for (int64_t i = 0; i < rows.count; ++i) {
    // Not past the last: where nothing is mapped, that takes longer than to
    // wait.
    const bool leads = i + kLead < rows.count;
    for (int64_t bit = 0; leads && bit < bits; bit += 8 * kLineBytes) {
      hwy::Prefetch(src + ((from + kLead * src_step + bit) >> 3));
      hwy::Prefetch(dst + ((to + kLead * dst_step + bit) >> 3));
    }
    ShiftRow<kHighFirst>(src, from, bits, dst, to);
    from += src_step;
    to += dst_step;
  }
}

void ShiftRowsOf(int64_t item_bits, const ShiftedRows& rows, const uint8_t* src,
                 uint8_t* dst) {
  if (item_bits == 4) return ShiftAll<false>(item_bits, rows, src, dst);
  ShiftAll<true>(item_bits, rows, src, dst);
}

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace axis {

HWY_EXPORT(ShiftRowsOf);

void ShiftRows(int64_t item_bits, const ShiftedRows& rows, const uint8_t* src,
               uint8_t* dst) {
  HWY_DYNAMIC_DISPATCH(ShiftRowsOf)(item_bits, rows, src, dst);
}

}  // namespace axis
#endif  // HWY_ONCE
