// Bringing together short items that lie apart, by instructions that look up.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/lookup/line_stream-inl.h"
#include "kernels/copy/block/lookup/lookup-inl.h"
#include "kernels/copy/block/pieces-inl.h"

#if defined(AXIS_BLOCK_LOOKUP_COMPACT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_LOOKUP_COMPACT_INL_H_
#undef AXIS_BLOCK_LOOKUP_COMPACT_INL_H_
#else
#define AXIS_BLOCK_LOOKUP_COMPACT_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3_DL

// How a vector of the destination is looked up in up to four vectors of the
// source, over and over.
class CompactPlan {
 public:
  CompactPlan(int64_t item, int64_t step)
      : items_(std::min(kLineBytes / item,
                        (kMostVectors * kLineBytes - item) / step + 1)),
        bytes_(items_ * item),
        src_step_(items_ * step),
        reach_(RoundUpToLine(src_step_ - step + item)) {
    // Without divisions, which would take longer than to move some KiB.
    uint8_t* place = places_;
    for (int64_t i = 0; i < items_; ++i)
      for (int64_t byte = 0; byte < item; ++byte)
        *place++ = static_cast<uint8_t>(i * step + byte);
  }

  // Moves the first items of one repetition of `block`, as many as whole
  // vectors have within both sides; returns how many.
  int64_t Move(const Block& block, const uint8_t* src, uint8_t* dst) const {
    // Less takes longer than to move items one by one.
    if (bytes_ < kPieceBytes) return 0;
    int64_t steps =
        std::min(block.num_a / items_,
                 WindowsWithin(block.src_end - src, reach_, src_step_));
    const int64_t bytes = bytes_;
    if (block.realigns) {
      LineStream<uint8_t> stream(dst);
      LookUpSteps(src, steps, [&](BytesVec x) HWY_ATTR {
        bytes == kLineBytes ? stream.Put(x) : stream.PutPart(x, bytes);
      });
      stream.End();
    } else {
      // What is stored too much is written later.
      steps = std::min(
          steps, WindowsWithin(block.num_a * block.item, kLineBytes, bytes_));
      uint8_t* to = dst;
      LookUpSteps(src, steps, [&](BytesVec x) HWY_ATTR {
        hn::StoreU(x, Bytes(), to);
        to += bytes;
      });
    }
    return steps * items_;
  }

 private:
  static constexpr int64_t kMostVectors = 4;

  template <class Store>
  HWY_INLINE void LookUpSteps(const uint8_t* src, int64_t steps,
                              Store store) const {
    WithConstant(reach_ / kLineBytes, [&](auto vectors) HWY_ATTR {
      const BytesVec places = hn::Load(Bytes(), places_);
      const uint8_t* from = src;
      const int64_t src_step = src_step_;
      for (int64_t i = 0; i < steps; ++i, from += src_step) {
        BytesVec x[vectors()];
        HWY_UNROLL(4)
        for (int64_t k = 0; k < vectors(); ++k)
          x[k] = hn::LoadU(Bytes(), from + k * kLineBytes);
        store(LookUp(x, places));
      }
    });
  }

  int64_t items_, bytes_;     // of a step
  int64_t src_step_, reach_;  // what it passes, and looks at
  HWY_ALIGN uint8_t places_[kLineBytes] = {};
};

#endif  // HWY_TARGET == HWY_AVX3_DL

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
