#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/copy/digits/digits.h"
#include "kernels/copy/tasks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/copy/digits/move_digits.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

// Byte by byte.
void MovePlaces(const Digits& digits, const uint8_t* src, uint8_t* dst) {
  const size_t part = Digits::kVector / digits.num;
  for (size_t p = 0; p < digits.num_places; ++p)
    for (size_t k = 0; k < digits.num; ++k)
      for (size_t i = 0; i < Digits::kVector; ++i) {
        const size_t at = digits.after[i];
        dst[digits.places[p].dst + digits.dst[k] + static_cast<int64_t>(i)] =
            src[digits.places[p].src + digits.src[at / part] +
                digits.before[k * part + at % part]];
      }
}

// Item by item.
void MoveWindows(const Digits& digits, const uint8_t* src, uint8_t* dst) {
  for (size_t w = 0; w < digits.num_windows; ++w) {
    const Digits::Window& window = digits.windows[w];
    for (size_t p = 0; p < digits.num_places; ++p) {
      const Offsets place = digits.places[p];
      uint8_t* to = dst + place.dst + window.dst;
      for (size_t i = 0; i < Digits::kVector / static_cast<size_t>(digits.item);
           ++i, to += digits.item)
        std::copy_n(src + place.src + window.items[i], digits.item, to);
    }
  }
}

#else

using D = hn::FixedTag<uint8_t, Digits::kVector>;

// A permutation of the bytes of a vector, if there is one to do.
template <bool kDoes>
class Shuffle {
 public:
  explicit Shuffle(const uint8_t* places) : places_(hn::LoadU(D(), places)) {}
  HWY_INLINE hn::Vec<D> operator()(hn::Vec<D> x) const {
    if constexpr (kDoes) return hn::TableLookupBytes(x, places_);
    return x;
  }

 private:
  hn::Vec<D> places_;
};

// Transposes kNum vectors of as many parts: to interleave the first half of
// them with the second moves each digit of an index up by one.
template <size_t kNum>
HWY_INLINE void TransposeParts(hn::Vec<D> (&x)[kNum]) {
  using Part = hwy::UnsignedFromSize<Digits::kVector / kNum>;
  const hn::Repartition<Part, D> d;
  const D bytes;
  for (size_t round = 1; round < kNum; round *= 2) {
    hn::Vec<D> y[kNum];
    for (size_t k = 0; k < kNum / 2; ++k) {
      const auto low = hn::BitCast(d, x[k]);
      const auto high = hn::BitCast(d, x[k + kNum / 2]);
      y[2 * k] = hn::BitCast(bytes, hn::InterleaveLower(d, low, high));
      y[2 * k + 1] = hn::BitCast(bytes, hn::InterleaveUpper(d, low, high));
    }
    for (size_t k = 0; k < kNum; ++k) x[k] = y[k];
  }
}

template <size_t kNum, bool kBefore, bool kAfter>
void MoveShuffled(const Digits& digits, const uint8_t* src, uint8_t* dst) {
  const D d;
  const Shuffle<kBefore> before(digits.before.data());
  const Shuffle<kAfter> after(digits.after.data());
  int64_t from[kNum], to[kNum];
  for (size_t k = 0; k < kNum; ++k) {
    from[k] = digits.src[k];
    to[k] = digits.dst[k];
  }
  const size_t num_places = digits.num_places;
  for (size_t p = 0; p < num_places; ++p) {
    const Offsets place = digits.places[p];
    hn::Vec<D> x[kNum];
    HWY_UNROLL(16)
    for (size_t k = 0; k < kNum; ++k)
      x[k] = before(hn::LoadU(d, src + place.src + from[k]));
    if constexpr (kNum > 1) TransposeParts(x);
    HWY_UNROLL(16)
    for (size_t k = 0; k < kNum; ++k)
      hn::StoreU(after(x[k]), d, dst + place.dst + to[k]);
  }
}

template <size_t kNum>
void MoveVectors(const Digits& digits, const uint8_t* src, uint8_t* dst) {
  if (digits.shuffles_before)
    return digits.shuffles_after
               ? MoveShuffled<kNum, true, true>(digits, src, dst)
               : MoveShuffled<kNum, true, false>(digits, src, dst);
  digits.shuffles_after ? MoveShuffled<kNum, false, true>(digits, src, dst)
                        : MoveShuffled<kNum, false, false>(digits, src, dst);
}

void MovePlaces(const Digits& digits, const uint8_t* src, uint8_t* dst) {
  switch (digits.num) {
    case 1:
      return MoveVectors<1>(digits, src, dst);
    case 2:
      return MoveVectors<2>(digits, src, dst);
    case 4:
      return MoveVectors<4>(digits, src, dst);
    case 8:
      return MoveVectors<8>(digits, src, dst);
    default:
      return MoveVectors<16>(digits, src, dst);
  }
}

// A window of kNum sources at all places.
template <size_t kNum>
void MoveWindow(const Digits& digits, const Digits::Window& window,
                const uint8_t* src, uint8_t* dst) {
  const D d;
  hn::Vec<D> wanted[kNum];
  int64_t from[kNum];
  for (size_t k = 0; k < kNum; ++k) {
    wanted[k] = hn::LoadU(d, window.places[k].data());
    from[k] = window.sources[k];
  }
  dst += window.dst;
  const size_t num_places = digits.num_places;
  for (size_t p = 0; p < num_places; ++p) {
    const Offsets place = digits.places[p];
    hn::Vec<D> x = hn::Zero(d);
    HWY_UNROLL(16)
    for (size_t k = 0; k < kNum; ++k)
      x = hn::Or(x, hn::TableLookupBytesOr0(
                        hn::LoadU(d, src + place.src + from[k]), wanted[k]));
    hn::StoreU(x, d, dst + place.dst);
  }
}

// A window of items of the width of T at all places.
template <typename T>
void MoveItems(const Digits& digits, const Digits::Window& window,
               const uint8_t* src, uint8_t* dst) {
  constexpr size_t kNum = Digits::kVector / sizeof(T);
  const hn::FixedTag<T, kNum> d;
  int64_t from[kNum];
  std::copy_n(window.items.begin(), kNum, from);
  dst += window.dst;
  const size_t num_places = digits.num_places;
  for (size_t p = 0; p < num_places; ++p) {
    const Offsets place = digits.places[p];
    hn::Vec<decltype(d)> x = hn::Zero(d);
    HWY_UNROLL(16)
    for (size_t k = 0; k < kNum; ++k) {
      T item;
      std::memcpy(&item, src + place.src + from[k], sizeof item);
      x = hn::InsertLane(x, k, item);
    }
    hn::StoreU(hn::BitCast(D(), x), D(), dst + place.dst);
  }
}

void MoveWindowByItems(const Digits& digits, const Digits::Window& window,
                       const uint8_t* src, uint8_t* dst) {
  switch (digits.item) {
    case 1:
      return MoveItems<uint8_t>(digits, window, src, dst);
    case 2:
      return MoveItems<uint16_t>(digits, window, src, dst);
    case 4:
      return MoveItems<uint32_t>(digits, window, src, dst);
    default:
      return MoveItems<uint64_t>(digits, window, src, dst);
  }
}

void MoveWindows(const Digits& digits, const uint8_t* src, uint8_t* dst) {
  for (size_t w = 0; w < digits.num_windows; ++w) {
    const Digits::Window& window = digits.windows[w];
    if (window.by_items) {
      MoveWindowByItems(digits, window, src, dst);
      continue;
    }
    switch (window.num_sources) {
#define AXIS_CASE(n)                         \
  case n:                                    \
    MoveWindow<n>(digits, window, src, dst); \
    break
      AXIS_CASE(1);
      AXIS_CASE(2);
      AXIS_CASE(3);
      AXIS_CASE(4);
      AXIS_CASE(5);
      AXIS_CASE(6);
      AXIS_CASE(7);
      AXIS_CASE(8);
#undef AXIS_CASE
    }
  }
}

#endif

// What `digits` have in one tile.
void MoveTile(const Digits& digits, const uint8_t* src, uint8_t* dst) {
  digits.num > 0 ? MovePlaces(digits, src, dst) : MoveWindows(digits, src, dst);
}

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace axis {

HWY_EXPORT(MoveTile);

void MoveDigits(const Digits& digits, const uint8_t* src, uint8_t* dst) {
  const size_t vectors = std::max(digits.num, digits.num_windows);
  const auto bytes =
      static_cast<int64_t>(Digits::kVector * vectors * digits.num_places);
  std::array<int64_t, 64> index{};  // 64: extents of 2 or more in 64 bits
  for (;;) {
    HWY_DYNAMIC_DISPATCH(MoveTile)(digits, src, dst);
    GiveWay(bytes);
    size_t i = digits.outer.size();
    for (;; --i) {
      if (i == 0) return;
      const Loop& loop = digits.outer[i - 1];
      src += loop.src_stride, dst += loop.dst_stride;
      if (++index[i - 1] < loop.extent) break;
      src -= loop.extent * loop.src_stride;
      dst -= loop.extent * loop.dst_stride;
      index[i - 1] = 0;
    }
  }
}

}  // namespace axis
#endif  // HWY_ONCE
