#include "kernels/copy/plan/shuffle.h"

#include <algorithm>
#include <numeric>

namespace axis {
namespace {

// Vectors are of so many bytes or more.
constexpr int64_t kShortColumn = 16;

// Whether the innermost loops of `copy` from `first` on permute runs of `bytes`
// in place.
bool IsShuffle(const ByteCopy& copy, size_t first, int64_t bytes) {
  int64_t dst = copy.item, last = copy.item - 1;
  for (size_t l = copy.loops.size(); l-- > first;) {
    if (copy.loops[l].dst_stride != dst) return false;
    dst *= copy.loops[l].extent;
    last += (copy.loops[l].extent - 1) * copy.loops[l].src_stride;
  }
  return last == bytes - 1;
}

// Whether runs follow runs.
bool AreDense(const Loop& runs, int64_t bytes) {
  return runs.src_stride == bytes && runs.dst_stride == bytes;
}

}  // namespace

std::optional<FoundShuffle> FindShuffle(const ByteCopy& copy, int64_t most) {
  std::optional<FoundShuffle> found;
  int64_t bytes = copy.item;
  const bool few = most == kMaxShuffle ||
                   (!copy.loops.empty() &&
                    copy.loops.back().extent * copy.item < kShortColumn);
  for (size_t first = copy.loops.size(); first-- > 1;) {
    bytes *= copy.loops[first].extent;
    if (bytes > most) break;
    const Loop& runs = copy.loops[first - 1];
    // One that is no longer than a few vectors does not pay for its table,
    // unless it takes the place of columns that are shorter than one.
    if (copy.loops.size() - first >= 2 && IsShuffle(copy, first, bytes) &&
        (AreDense(runs, bytes) || most == kMaxShuffle) &&
        bytes * runs.extent >= (few ? 2 : 8) * most)
      found = {bytes, first};
  }
  return found;
}

void FillShuffle(const ByteCopy& copy, const FoundShuffle& found,
                 std::array<uint8_t, kMaxShuffle>& shuffle) {
  std::iota(shuffle.begin(), shuffle.begin() + copy.item, uint8_t{0});
  int64_t filled = copy.item;
  auto repeat = [&](int64_t extent, int64_t stride) {
    for (int64_t i = 1; i < extent; ++i)
      std::transform(shuffle.begin(), shuffle.begin() + filled,
                     shuffle.begin() + i * filled, [&](uint8_t from) {
                       return static_cast<uint8_t>(from + i * stride);
                     });
    filled *= extent;
  };
  for (size_t l = copy.loops.size(); l-- > found.num_outer;)
    repeat(copy.loops[l].extent, copy.loops[l].src_stride);
  repeat(ShuffleStep(found.run) / found.run, found.run);
}

}  // namespace axis
