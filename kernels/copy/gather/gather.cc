#include "kernels/copy/gather/gather.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

#include "kernels/copy/machine.h"
#include "kernels/copy/tasks.h"

namespace axis {
namespace {

using Window = GatherPlan::Window;
using Places = std::span<const Plan::Place>;

// Makes windows for a plan whose loops are there. A call takes a few
// microseconds for a thousand items: as long as moving a small tensor does.
class Windows {
 public:
  Windows(GatherPlan& plan, int64_t item, Places places)
      : plan_(plan), item_(item) {
    int64_t lowest = std::numeric_limits<int64_t>::max();
    for (const Plan::Place& place : places)
      lowest = std::min(lowest, place.src);
    lowest_ = lowest >> 3;
    // Items of one step of the source are found in one vector.
    const int64_t step = plan.inner.src_stride;
    grid_ = 0 < step && step < plan.vector ? step : plan.vector;
    is_power_ = (grid_ & (grid_ - 1)) == 0;
    most_ = plan.repeat == 1 ? plan.vector : plan.inner.dst_stride;
  }

  // Makes a window of the first of `places`; returns how many it holds.
  // REQUIRES: T is as wide as an item, or half as wide as one of 16 bytes.
  template <class T>
  size_t Add(Places places) {
    constexpr int64_t kWidth = sizeof(T);
    int64_t sources[kLineBytes];
    size_t num_sources = 0, count = 0;
    Window& window = plan_.windows.emplace_back();
    window.from.fill(Window::kNowhere);
    const int64_t dst = places[0].dst >> 3;
    int64_t width = 0, reach = 0;
    for (; count < places.size() && places[count].dst >> 3 == dst + width &&
           width + item_ <= most_;
         ++count) {
      const int64_t src = places[count].src >> 3, begin = VectorOf(src);
      size_t k = num_sources;
      while (k > 0 && sources[k - 1] != begin) --k;
      if (k == 0) {
        sources[num_sources] = begin;
        reach = std::max(reach, begin);
        k = ++num_sources;
      }
      for (int64_t i = 0; i < item_; i += kWidth, width += kWidth) {
        Put<T>((k - 1) * kOnes, window.from.data() + width);
        Put<T>(static_cast<uint64_t>(src - begin + i) * kOnes + kRamp,
               window.place.data() + width);
      }
    }
    window.dst = dst;
    window.width = width;
    window.reach = reach;
    window.num_sources = num_sources;
    window.first_source = plan_.sources.size();
    plan_.sources.insert(plan_.sources.end(), sources, sources + num_sources);
    if (plan_.repeat > 1) Repeat(window);
    return count;
  }

 private:
  // Byte i of a word is i, is 1.
  static constexpr uint64_t kRamp = 0x0706050403020100;
  static constexpr uint64_t kOnes = 0x0101010101010101;

  template <class T>
  static void Put(uint64_t word, uint8_t* at) {
    const T part = static_cast<T>(word);
    std::memcpy(at, &part, sizeof(T));
  }

  // Where the vector begins that the item at `src` is taken from: at a step, so
  // that a few vectors serve many items. Steps are whole items, so that none is
  // cut.
  int64_t VectorOf(int64_t src) const {
    const int64_t at = src - lowest_;
    return src - (is_power_ ? at & (grid_ - 1) : at % grid_);
  }

  // The other indices that the window holds are the first one, farther on.
  void Repeat(Window& window) const {
    const auto step = static_cast<size_t>(plan_.inner.dst_stride);
    const size_t bytes = step * static_cast<size_t>(plan_.repeat);
    for (size_t i = step; i < bytes; ++i) {
      window.from[i] = window.from[i - step];
      window.place[i] = static_cast<uint8_t>(window.place[i - step] + step);
    }
  }

  GatherPlan& plan_;
  const int64_t item_;
  int64_t lowest_, grid_, most_;
  bool is_power_;
};

template <class T>
void MakeWindows(GatherPlan& plan, int64_t item, Places places) {
  Windows windows(plan, item, places);
  while (!places.empty()) places = places.subspan(windows.Add<T>(places));
}

GatherPlan PlanGather(const ByteCopy& copy, Places places, int64_t vector) {
  GatherPlan plan;
  plan.vector = vector;
  plan.outer = copy.loops;
  if (!copy.loops.empty()) {
    plan.inner = copy.loops.back();
    plan.outer.pop_back();
    if (plan.inner.src_stride == plan.inner.dst_stride)
      plan.repeat = std::clamp<int64_t>(vector / plan.inner.dst_stride, 1,
                                        plan.inner.extent);
  }
  switch (copy.item) {
    case 1:
      MakeWindows<uint8_t>(plan, 1, places);
      break;
    case 2:
      MakeWindows<uint16_t>(plan, 2, places);
      break;
    case 4:
      MakeWindows<uint32_t>(plan, 4, places);
      break;
    default:
      MakeWindows<uint64_t>(plan, copy.item, places);
  }
  return plan;
}

}  // namespace

void MoveGather(const ByteCopy& copy, Places places, const uint8_t* src,
                const uint8_t* src_end, uint8_t* dst) {
  const Machine machine = ThisMachine();
  const GatherPlan plan = PlanGather(
      copy, places, machine.shuffle == kMaxShuffle ? kLineBytes : 16);
  const int64_t index_bytes = copy.item * static_cast<int64_t>(places.size());
  int64_t count = 1;
  for (const Loop& loop : plan.outer) count *= loop.extent;
  const int64_t bytes = index_bytes * plan.inner.extent * count;
  // What all windows read and write stays in the second cache meanwhile.
  const int64_t chunk =
      std::max(machine.l2 / 8 / index_bytes, 8 * plan.repeat) / plan.repeat *
      plan.repeat;
  const int64_t chunks = std::max<int64_t>(1, plan.inner.extent / chunk);
  const bool stream = MachineFor(bytes).StreamsTiles(bytes);
  ForEachTask(bytes, count * chunks, [&](int64_t task) {
    const int64_t k = task % chunks;
    const Offsets at = OffsetsAt(plan.outer, task / chunks);
    MoveWindows(plan, k * chunk,
                k + 1 < chunks ? (k + 1) * chunk : plan.inner.extent, stream,
                src + at.src, src_end, dst + at.dst);
  });
}

}  // namespace axis
