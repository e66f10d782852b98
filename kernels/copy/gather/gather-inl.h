// Gathering vectors, per SIMD target. Included once for each target.
#include <algorithm>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/copy/block/lookup/lookup-inl.h"
#include "kernels/copy/block/pieces-inl.h"
#include "kernels/copy/block/runs-inl.h"
#include "kernels/copy/gather/gather.h"

#if defined(AXIS_GATHER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_GATHER_INL_H_
#undef AXIS_GATHER_INL_H_
#else
#define AXIS_GATHER_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

using Window = GatherPlan::Window;

// Moves index `at` of the inner loop, and those that are repeated with it, byte
// by byte: the last ones, for which vectors would read beyond the source.
HWY_INLINE void GatherBytes(const GatherPlan& plan, const Window& window,
                            const int64_t* sources, int64_t at,
                            const uint8_t* src, uint8_t* dst) {
  src += at * plan.inner.src_stride;
  dst += at * plan.inner.dst_stride + window.dst;
  for (size_t i = 0; i < static_cast<size_t>(plan.vector); ++i)
    if (window.from[i] != Window::kNowhere)
      dst[i] = src[sources[window.from[i]] + window.place[i]];
}

#if HWY_TARGET != HWY_SCALAR

#if HWY_TARGET == HWY_AVX3_DL

// The bytes of a window that one of its sources holds, added to `x`.
class Gathered {
 public:
  using D = Bytes;
  using V = BytesVec;
  Gathered() = default;
  Gathered(const Window& window, size_t source)
      : mask_(hn::Eq(hn::LoadU(D(), window.from.data()),
                     hn::Set(D(), static_cast<uint8_t>(source)))
                  .raw) {}
  HWY_INLINE V Add(V x, V places, V from) const {
    return {_mm512_mask_permutexvar_epi8(x.raw, mask_, places.raw, from.raw)};
  }

 private:
  __mmask64 mask_;
};

// Writes those bytes of a vector that are a window's.
class PartStore {
 public:
  PartStore(const GatherPlan&, const Window& window)
      : mask_(hn::Not(hn::Eq(hn::LoadU(Bytes(), window.from.data()),
                             hn::Set(Bytes(), uint8_t{Window::kNowhere})))) {}
  HWY_INLINE void operator()(BytesVec x, uint8_t* dst) const {
    hn::BlendedStore(x, mask_, Bytes(), dst);
  }

 private:
  hn::Mask<Bytes> mask_;
};

#else

class Gathered {
 public:
  using D = hn::FixedTag<uint8_t, 16>;
  using V = hn::Vec<D>;
  Gathered() = default;
  // Places of 128 and more look up a zero.
  Gathered(const Window& window, size_t source)
      : places_(hn::Or(
            hn::LoadU(D(), window.place.data()),
            hn::VecFromMask(
                D(), hn::Ne(hn::LoadU(D(), window.from.data()),
                            hn::Set(D(), static_cast<uint8_t>(source)))))) {}
  HWY_INLINE V Add(V x, V, V from) const {
    return hn::Or(x, hn::TableLookupBytesOr0(from, places_));
  }

 private:
  V places_;
};

class PartStore {
 public:
  PartStore(const GatherPlan& plan, const Window& window)
      : repeat_(plan.repeat),
        stride_(plan.inner.dst_stride),
        width_(window.width) {}
  HWY_INLINE void operator()(Gathered::V x, uint8_t* dst) const {
    HWY_ALIGN uint8_t bytes[16];
    hn::Store(x, Gathered::D(), bytes);
    for (int64_t r = 0; r < repeat_; ++r)
      CopyShort(dst + r * stride_, bytes + r * stride_, width_);
  }

 private:
  int64_t repeat_, stride_, width_;
};

#endif

// How windows are written: all of them, past the caches, or what is theirs.
enum class Put { kWhole, kStream, kPart };

// So many steps of a window, `src_step` and `dst_step` bytes apart.
struct Steps {
  int64_t count, src_step, dst_step;
};

// A window of kSources sources; of any number, if that is 0.
template <size_t kSources, Put kPut>
void GatherSteps(const GatherPlan& plan, const Window& window,
                 const int64_t* offsets, const Steps& steps, const uint8_t* src,
                 uint8_t* dst) {
  constexpr size_t kMost = kSources > 0 ? kSources : kLineBytes;
  const size_t num_sources = kSources > 0 ? kSources : window.num_sources;
  const Gathered::D d;
  Gathered sources[kMost];
  const uint8_t* from[kMost];
  for (size_t k = 0; k < num_sources; ++k) {
    sources[k] = Gathered(window, k);
    from[k] = src + offsets[k];
  }
  const auto places = hn::LoadU(d, window.place.data());
  const PartStore store_part(plan, window);
  int64_t at = 0;
  for (int64_t i = 0; i < steps.count;
       ++i, at += steps.src_step, dst += steps.dst_step) {
    auto x = hn::Zero(d);
    if constexpr (kSources > 0) {
      HWY_UNROLL(8)
      for (size_t k = 0; k < kSources; ++k)
        x = sources[k].Add(x, places, hn::LoadU(d, from[k] + at));
    } else {
      for (size_t k = 0; k < num_sources; ++k)
        x = sources[k].Add(x, places, hn::LoadU(d, from[k] + at));
    }
    if constexpr (kPut == Put::kPart) {
      store_part(x, dst);
    } else {
      StoreAt<kPut == Put::kStream>(x, d, dst);
    }
  }
}

template <Put kPut>
void GatherSteps(const GatherPlan& plan, const Window& window,
                 const int64_t* offsets, const Steps& steps, const uint8_t* src,
                 uint8_t* dst) {
  switch (window.num_sources) {
#define AXIS_CASE(n) \
  case n:            \
    return GatherSteps<n, kPut>(plan, window, offsets, steps, src, dst)
    AXIS_CASE(1);
    AXIS_CASE(2);
    AXIS_CASE(3);
    AXIS_CASE(4);
    AXIS_CASE(5);
    AXIS_CASE(6);
    AXIS_CASE(7);
    AXIS_CASE(8);
#undef AXIS_CASE
    default:
      return GatherSteps<0, kPut>(plan, window, offsets, steps, src, dst);
  }
}

// `count` steps from index `at` on.
HWY_INLINE void GatherWindow(const GatherPlan& plan, const Window& window,
                             const int64_t* offsets, int64_t at, int64_t count,
                             bool stream, const uint8_t* src, uint8_t* dst) {
  src += at * plan.inner.src_stride;
  dst += at * plan.inner.dst_stride + window.dst;
  const Steps steps = {count, plan.repeat * plan.inner.src_stride,
                       plan.repeat * plan.inner.dst_stride};
  const bool whole = window.width * plan.repeat == plan.vector;
  stream = stream && whole && plan.vector == kLineBytes && IsAtLine(dst) &&
           steps.dst_step % kLineBytes == 0;
  if (stream)
    return GatherSteps<Put::kStream>(plan, window, offsets, steps, src, dst);
  whole ? GatherSteps<Put::kWhole>(plan, window, offsets, steps, src, dst)
        : GatherSteps<Put::kPart>(plan, window, offsets, steps, src, dst);
}

#endif  // HWY_TARGET != HWY_SCALAR

void GatherWindows(const GatherPlan& plan, int64_t begin, int64_t end,
                   bool stream, const uint8_t* src,
                   [[maybe_unused]] const uint8_t* src_end, uint8_t* dst) {
  const int64_t repeat = plan.repeat, whole = (end - begin) / repeat;
  for (const Window& window : plan.windows) {
    const int64_t* const sources = plan.sources.data() + window.first_source;
#if HWY_TARGET != HWY_SCALAR
    // Indices before it read whole vectors of the source.
    const int64_t left = src_end - src - window.reach - plan.vector;
    const int64_t safe = left < 0 ? begin
                         : plan.inner.src_stride == 0
                             ? end
                             : left / plan.inner.src_stride + 1;
#endif
    auto gather = [&](int64_t at, int64_t count) HWY_ATTR {
#if HWY_TARGET != HWY_SCALAR
      const int64_t fast =
          std::clamp<int64_t>((safe - at + repeat - 1) / repeat, 0, count);
      if (fast > 0)
        GatherWindow(plan, window, sources, at, fast, stream, src, dst);
      at += fast * repeat, count -= fast;
#endif
      for (; count > 0; at += repeat, --count)
        GatherBytes(plan, window, sources, at, src, dst);
    };
    gather(begin, whole);
    // What is left makes no whole window: some are moved once more.
    if (whole * repeat < end - begin) gather(end - repeat, 1);
  }
  if (stream) hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
