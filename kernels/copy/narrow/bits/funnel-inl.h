// Funnels: vectors of bytes that begin inside bytes, per SIMD target.
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/copy/narrow/bits/bit_order.h"

#if defined(AXIS_NARROW_FUNNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_NARROW_FUNNEL_INL_H_
#undef AXIS_NARROW_FUNNEL_INL_H_
#else
#define AXIS_NARROW_FUNNEL_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// shift(x), those of a pair of bytes together: there are no shifts of bytes.
// What comes from the other byte of the pair is the caller's to drop.
template <class D, class V, class Shift>
HWY_INLINE V ShiftPairs(D d, V x, Shift shift) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    return shift(x);
  } else {
    const hn::RepartitionToWide<D> pairs;
    return hn::BitCast(d, shift(hn::BitCast(pairs, x)));
  }
}

// The bytes that begin at bit `from`, in [0, 8], of those of a vector and go on
// in those of another one.
template <bool kHighFirst, class D>
class Funnel {
 public:
  using V = hn::Vec<D>;

  Funnel() = default;
  HWY_INLINE Funnel(D d, int from)
      : from_(from),
        soon_(hn::Set(d, Sooner<kHighFirst>(0xff, from))),
        late_(hn::Set(d, Later<kHighFirst>(0xff, 8 - from))) {}

  HWY_INLINE V operator()(V first, V next) const {
    const D d;
    const int from = from_;
    const auto sooner = [from](auto x) HWY_ATTR {
      return kHighFirst ? hn::ShiftLeftSame(x, from)
                        : hn::ShiftRightSame(x, from);
    };
    const auto later = [from](auto x) HWY_ATTR {
      return kHighFirst ? hn::ShiftRightSame(x, 8 - from)
                        : hn::ShiftLeftSame(x, 8 - from);
    };
    return hn::Or(hn::And(ShiftPairs(d, first, sooner), soon_),
                  hn::And(ShiftPairs(d, next, later), late_));
  }

 private:
  int from_;
  V soon_, late_;
};

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
