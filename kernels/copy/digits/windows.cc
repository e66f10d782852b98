#include <algorithm>
#include <array>
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

// To load a source of a window, to look it up and to add it takes about as long
// as to load and to insert so many items.
constexpr size_t kItemsOfSource = 2;
static_assert(Digits::kVector / kItemsOfSource <= Window::kMostSources);

// A run has windows of so many bytes at most.
constexpr int64_t kMostRun = Digits::kMostWindows * Digits::kVector;

// Finds vectors of the source that have the items of `window`, of `item` bytes;
// false if to look them up takes longer than to insert items. None ends beyond
// `end`.
bool FindSources(int64_t item, int64_t end, Window& window) {
  constexpr int64_t kVector = Digits::kVector;
  const auto width = static_cast<size_t>(item);
  const size_t num_items = Digits::kVector / width;
  const size_t most = std::max<size_t>(1, num_items / kItemsOfSource);
  struct Item {
    int64_t src;
    size_t place;
  };
  std::array<Item, Digits::kVector> items;
  for (size_t i = 0; i < num_items; ++i)
    items[i] = {window.items[i], i * width};
  const std::span in_order(items.data(), num_items);
  std::ranges::sort(in_order, {}, &Item::src);
  window.num_sources = 0;
  int64_t begin = -kVector;
  for (const Item& next : in_order) {
    if (next.src > begin + kVector - item) {
      if (window.num_sources == most) return false;
      begin = std::min(next.src, end - kVector);
      window.places[window.num_sources].fill(Window::kNowhere);
      window.sources[window.num_sources++] = begin;
    }
    auto& places = window.places[window.num_sources - 1];
    for (size_t byte = 0; byte < width; ++byte)
      places[next.place + byte] =
          static_cast<uint8_t>(static_cast<size_t>(next.src - begin) + byte);
  }
  return true;
}

}  // namespace

bool FindWindows(const ByteCopy& copy, Wanted wanted, Digits& digits) {
  constexpr int64_t kVector = Digits::kVector;
  if (wanted == Wanted::kNone || !IsTransposable(copy.item)) return false;
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
  digits.item = item;
  for (int64_t dst = 0; dst < bytes; dst += kVector) {
    Window& window = digits.windows[digits.num_windows++];
    window.dst = std::min(dst, bytes - kVector);
    const auto first = static_cast<size_t>(window.dst / item);
    for (size_t i = 0; i < static_cast<size_t>(kVector / item); ++i)
      window.items[i] = items[first + i].src;
    window.by_items = !FindSources(item, end, window);
    if (window.by_items && wanted == Wanted::kLookedUp) return false;
  }

  Loops inner;
  TakeOn(loops, &Loop::src_stride, item, kReadBytes, run, inner);
  FillPlaces(digits, loops, inner,
             std::min(Digits::kMostPlaces, kTileBytes / bytes));
  return true;
}

}  // namespace axis
