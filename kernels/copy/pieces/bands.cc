#include "kernels/copy/pieces/bands.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "kernels/copy/block.h"
#include "kernels/copy/byte_copy.h"
#include "kernels/copy/memory/scratch.h"
#include "kernels/copy/plan/block_plan.h"
#include "kernels/copy/tasks.h"

namespace axis {
namespace {

using Loops = absl::InlinedVector<Loop, 8>;

// With shorter runs it is faster to bring the whole source together.
constexpr int64_t kLeastRun = 512;

// So many of them make a band, or more if their items are short: neighbours in
// the destination make this many bytes.
constexpr int64_t kRows = 128, kRowBytes = 512;

int64_t CountOf(const Loops& loops) {
  int64_t count = 1;
  for (const Loop& loop : loops) count *= loop.extent;
  return count;
}

// A loop of which a band has a range of indices.
struct Range {
  Loop loop{1, 0, 0};
  int64_t grain = 1;

  int64_t count() const { return (loop.extent + grain - 1) / grain; }
  int64_t begin(int64_t i) const { return i * grain; }
  int64_t extent(int64_t i) const {
    return std::min(grain, loop.extent - i * grain);
  }
  // Ranges of about `most` indices, each of which begins a line.
  static Range Of(const Loop& loop, int64_t most) {
    const int64_t line = kLineBytes / std::gcd(kLineBytes, loop.dst_stride);
    return {loop, std::min(loop.extent, std::max(line, most / line * line))};
  }
};

// How a copy is divided into bands: one for each index of `outer` and each
// range of `a` and `b`. The items of `b` follow one another in the source, so
// that a band is made of one run for each index of `rows` and of its part of
// `a`, whose items are neighbours in the destination.
struct Division {
  Loops outer, rows;
  Range a, b;
  int64_t item;
};

std::optional<Division> Divide(const ByteCopy& copy) {
  const auto b = std::ranges::find(copy.loops, copy.item, &Loop::src_stride);
  if (b == copy.loops.end()) return std::nullopt;
  Division division{{copy.loops.begin(), b}, {}, {}, {}, copy.item};
  const int64_t most = std::max(kRows, kRowBytes / copy.item);
  int64_t rows = 1;
  for (auto loop = copy.loops.end(); --loop != b;) {
    if (rows * loop->extent <= most && division.a.grain == 1) {
      division.rows.insert(division.rows.begin(), *loop);
      rows *= loop->extent;
    } else if (division.a.grain == 1 && most / rows > 1) {
      division.a = Range::Of(*loop, most / rows);
    } else {
      division.outer.push_back(*loop);
    }
  }
  rows *= division.a.grain;
  // From one run to the next there is a line more, lest they evict each other.
  const int64_t run = kBandBytes / rows - 2 * kLineBytes;
  division.b = Range::Of(*b, run / copy.item);
  const int64_t bytes = division.b.grain * copy.item;
  if (bytes > run || bytes < kLeastRun) return std::nullopt;
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
  const int64_t tasks = CountOf(d.outer) * d.a.count() * d.b.count();
  ForEachTask(total_bytes, tasks, [&](int64_t task) {
    const int64_t b = task % d.b.count();
    const int64_t a = task / d.b.count() % d.a.count();
    Offsets at = OffsetsAt(d.outer, task / d.b.count() / d.a.count());
    at.src += plan.src_offset / 8 + d.a.begin(a) * d.a.loop.src_stride +
              d.b.begin(b) * d.item;
    at.dst += plan.dst_offset / 8 + d.a.begin(a) * d.a.loop.dst_stride +
              d.b.begin(b) * d.b.loop.dst_stride;
    Loops rows = d.rows;
    rows.insert(rows.begin(),
                {d.a.extent(a), d.a.loop.src_stride, d.a.loop.dst_stride});
    const int64_t run = d.b.extent(b) * d.item;
    const int64_t pitch = RoundUpToLine(run) + kLineBytes;
    const int64_t num_rows = CountOf(rows);
    uint8_t* const scratch = BandScratch();
    for (int64_t row = 0; row < num_rows; ++row)
      source.Read(at.src + OffsetsAt(rows, row).src, run,
                  reinterpret_cast<std::byte*>(scratch + row * pitch));
    ByteCopy band{d.item, {{d.b.extent(b), d.item, d.b.loop.dst_stride}}};
    int64_t stride = num_rows * pitch;
    for (const Loop& loop : rows) {
      stride /= loop.extent;
      band.loops.push_back({loop.extent, stride, loop.dst_stride});
    }
    Canonicalize(band);
    BlockPlan blocks =
        PlanBlocks(band, {}, total_bytes, MachineFor(total_bytes));
    blocks.lead = 0;  // all of it is in cache
    MoveBlocks(blocks, scratch, scratch + num_rows * pitch,
               reinterpret_cast<uint8_t*>(target.dst + at.dst));
  });
  return true;
}

}  // namespace axis
