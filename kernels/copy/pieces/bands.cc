#include "kernels/copy/pieces/bands.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "kernels/copy/block.h"
#include "kernels/copy/byte_copy.h"
#include "kernels/copy/plan/block_plan.h"
#include "kernels/copy/scratch.h"
#include "kernels/copy/tasks.h"

namespace axis {
namespace {

using Loops = absl::InlinedVector<Loop, 8>;

// Shorter runs are not worth looking for.
constexpr int64_t kLeastRun = 2 * kLineBytes;

int64_t CountOf(const Loops& loops) {
  int64_t count = 1;
  for (const Loop& loop : loops) count *= loop.extent;
  return count;
}

// Where a loop takes its `index`-th place.
struct Place {
  int64_t src = 0, dst = 0;
};
Place PlaceOf(const Loops& loops, int64_t index) {
  Place place;
  for (size_t l = loops.size(); l-- > 0;) {
    const int64_t i = index % loops[l].extent;
    place.src += i * loops[l].src_stride;
    place.dst += i * loops[l].dst_stride;
    index /= loops[l].extent;
  }
  return place;
}

// How a copy is divided: for each index of `outer` in ranges of `grain` indices
// of `cut`, whose items follow one another in the source; so a band is made of
// one run for each index of `rows`.
struct Division {
  Loops outer, rows;
  Loop cut;
  int64_t item, grain;

  // From one run to the next in scratch: not so that they evict each other.
  int64_t Pitch() const { return RoundUpToLine(grain * item) + kLineBytes; }

  // `extent` indices of a band, whose runs lie in scratch.
  ByteCopy Band(int64_t extent) const {
    ByteCopy band{item, {{extent, item, cut.dst_stride}}};
    int64_t stride = CountOf(rows) * Pitch();
    for (const Loop& loop : rows) {
      stride /= loop.extent;
      band.loops.push_back({loop.extent, stride, loop.dst_stride});
    }
    Canonicalize(band);
    return band;
  }
};

std::optional<Division> Divide(const ByteCopy& copy) {
  const auto cut = std::ranges::find(copy.loops, copy.item, &Loop::src_stride);
  if (cut == copy.loops.end()) return std::nullopt;
  Division division{{copy.loops.begin(), cut},
                    {cut + 1, copy.loops.end()},
                    *cut,
                    copy.item,
                    0};
  // Whole lines of the destination.
  const int64_t line = kLineBytes / std::gcd(kLineBytes, cut->dst_stride);
  const int64_t run =
      kBandBytes / CountOf(division.rows) - kLineBytes - kLineBytes;
  division.grain = std::min(cut->extent, run / copy.item / line * line);
  if (division.grain * copy.item < kLeastRun) return std::nullopt;
  return division;
}

// Copies runs from where they lie, be it in several pieces.
class Source {
 public:
  explicit Source(Pieces pieces) : pieces_(pieces) {
    size_t begin = 0;
    for (std::span<const std::byte> piece : pieces) {
      begins_.push_back(begin);
      begin += piece.size();
    }
  }

  void Read(int64_t at, int64_t bytes, std::byte* dst) const {
    auto left = static_cast<size_t>(bytes);
    auto begin = static_cast<size_t>(at);
    auto i = static_cast<size_t>(std::ranges::upper_bound(begins_, begin) -
                                 begins_.begin() - 1);
    for (; left > 0; ++i) {
      const size_t skip = begin - begins_[i];
      const size_t n = std::min(left, pieces_[i].size() - skip);
      dst = std::copy_n(pieces_[i].data() + skip, n, dst);
      begin += n;
      left -= n;
    }
  }

 private:
  const Pieces pieces_;
  std::vector<size_t> begins_;
};

}  // namespace

bool CopyBands(Pieces pieces, const Target& target, int64_t total_bytes) {
  const Plan& plan = *target.plan;
  const std::optional<Division> divided = Divide(ByteCopyOf(plan));
  if (!divided) return false;
  const Division& d = *divided;
  const Source source(pieces);
  const int64_t num_rows = CountOf(d.rows), pitch = d.Pitch();
  const int64_t bands = (d.cut.extent + d.grain - 1) / d.grain;
  ForEachTask(total_bytes, bands * CountOf(d.outer), [&](int64_t i) {
    const Place at = PlaceOf(d.outer, i / bands);
    const int64_t begin = i % bands * d.grain;
    const int64_t extent = std::min(d.grain, d.cut.extent - begin);
    uint8_t* const scratch = BandScratch();
    for (int64_t row = 0; row < num_rows; ++row)
      source.Read(plan.src_offset / 8 + at.src + begin * d.item +
                      PlaceOf(d.rows, row).src,
                  extent * d.item,
                  reinterpret_cast<std::byte*>(scratch + row * pitch));
    BlockPlan band =
        PlanBlocks(d.Band(extent), {}, total_bytes, MachineFor(total_bytes));
    band.lead = 0;  // all of it is in cache
    MoveBlocks(band, scratch, scratch + num_rows * pitch,
               reinterpret_cast<uint8_t*>(target.dst + plan.dst_offset / 8) +
                   at.dst + begin * d.cut.dst_stride);
  });
  return true;
}

}  // namespace axis
