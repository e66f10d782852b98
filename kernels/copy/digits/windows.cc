#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "kernels/copy/digits/digits.h"
#include "kernels/copy/digits/tile.h"
#include "kernels/copy/plan/side.h"

namespace axis {
namespace {

using Window = Digits::Window;

// One window after the other is moved at all places of a tile: so much of them
// stays in the first cache.
constexpr int64_t kTileBytes = 8 << 10;

// More sources take longer to look up than blocks.
constexpr size_t kMeanSources = 8;

// A run has windows of so many bytes at most.
constexpr int64_t kMostRun = Digits::kMostWindows * Digits::kVector;

// Finds where the bytes of `window` are, which begin at `wanted`. No source
// ends beyond `end`.
void FindSources(std::span<const int64_t, Digits::kVector> wanted, int64_t end,
                 Window& window) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  constexpr int64_t kVector = Digits::kVector;
  std::array<int64_t, Digits::kVector> left;
  std::ranges::copy(wanted, left.begin());
  window.num_sources = 0;
  for (;;) {
    const int64_t first = *std::ranges::min_element(left);
    if (first == kNone) return;
    const int64_t begin = std::min(first, end - kVector);
    auto& places = window.places[window.num_sources];
    window.sources[window.num_sources++] = begin;
    for (size_t i = 0; i < left.size(); ++i) {
      const bool has = left[i] - begin < kVector;
      places[i] =
          has ? static_cast<uint8_t>(left[i] - begin) : Window::kNowhere;
      if (has) left[i] = kNone;
    }
  }
}

}  // namespace

bool FindWindows(const ByteCopy& copy, Digits& digits) {
  constexpr int64_t kVector = Digits::kVector;
  if (!IsTransposable(copy.item)) return false;
  Loops loops = copy.loops, run;
  const int64_t item = copy.item;
  int64_t bytes = item;
  while (bytes < kRunBytes) {
    const auto next = Find(loops, &Loop::dst_stride, bytes);
    if (!next) break;
    const int64_t part = LargestDivisor(loops[*next].extent, kMostRun / bytes);
    if (part == 1) break;
    run.push_back(TakePart(loops, *next, part));
    bytes *= part;
  }
  std::array<Offsets, static_cast<size_t>(kMostRun)> items;
  const size_t count = ListOffsets(run, items);
  int64_t end = item;
  for (size_t i = 0; i < count; ++i) end = std::max(end, items[i].src + item);
  if (bytes < kVector || end < kVector) return false;

  digits.num = digits.num_windows = 0;
  size_t num_sources = 0;
  for (int64_t dst = 0; dst < bytes; dst += kVector) {
    Window& window = digits.windows[digits.num_windows++];
    window.dst = std::min(dst, bytes - kVector);
    std::array<int64_t, Digits::kVector> wanted;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const int64_t at = window.dst + static_cast<int64_t>(i);
      wanted[i] = items[static_cast<size_t>(at / item)].src + at % item;
    }
    FindSources(wanted, end, window);
    num_sources += window.num_sources;
  }
  if (num_sources > kMeanSources * digits.num_windows) return false;

  Loops inner;
  TakeOn(loops, &Loop::src_stride, item, kReadBytes, run, inner);
  FillPlaces(digits, loops, inner,
             std::min(Digits::kMostPlaces, kTileBytes / bytes));
  return true;
}

}  // namespace axis
