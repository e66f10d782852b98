#include "kernels/copy/narrow/narrow.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/copy/block.h"
#include "kernels/copy/byte_copy.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/memory/scratch.h"
#include "kernels/copy/narrow/pack.h"
#include "kernels/copy/narrow/skewed.h"
#include "kernels/copy/narrow/squares.h"
#include "kernels/copy/plan/block_plan.h"
#include "kernels/copy/tasks.h"

namespace axis {
namespace {

using Loops = absl::InlinedVector<Loop, 8>;
using Strides = absl::InlinedVector<int64_t, 8>;

// Rows of a block are this long on either side, in elements: short enough for
// squares of it to stay in cache, long enough for their ragged ends not to
// matter.
constexpr int64_t kRow = 512;

// What vectors may write past a row, or the unit that it starts in before it.
constexpr int64_t kSlack = 64;

// Gaps of at most so many elements between rows of a source are unpacked, too:
// another row costs more.
constexpr int64_t kGap = 256;

// Blocks with fewer elements would be mostly overhead.
constexpr int64_t kBlock = 64 << 10;

// Squares are fastest where a row has as many units of elements, bytes, as a
// vector, and better still as the lines that a core foresees.
constexpr int64_t kVectorUnits = 32;
constexpr int64_t kRowUnits = 256;

// One side of a block: rows of neighbouring elements, unpacked to a byte each.
struct Rows {
  int64_t length = 1;
  int64_t pitch = 0;
  int64_t count = 1;
  Loops loops;      // over the rows, innermost first, in packed elements
  Strides strides;  // of every loop of the block, in unpacked elements
};

// Lays out the part of a side that a block of `extents` touches. What goes on
// right behind a row joins it; in a source also what is near, gap and all.
Rows LayOut(const Loops& loops, const Strides& extents, int64_t Loop::*stride) {
  const int64_t gap = stride == &Loop::src_stride ? kGap : 0;
  Rows rows;
  rows.strides.resize(loops.size());
  absl::InlinedVector<size_t, 8> order(loops.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t x, size_t y) {
    return loops[x].*stride < loops[y].*stride;
  });
  for (size_t i : order) {
    const int64_t step = loops[i].*stride;
    if (extents[i] == 1) continue;
    if (rows.loops.empty() && step <= rows.length + gap) {
      rows.strides[i] = step;
      rows.length += (extents[i] - 1) * step;
      continue;
    }
    if (rows.loops.empty()) rows.pitch = RoundUpToLine(rows.length + kSlack);
    rows.strides[i] = rows.pitch * rows.count;
    rows.loops.push_back({extents[i], step, step});
    rows.count *= extents[i];
  }
  if (rows.loops.empty()) rows.pitch = RoundUpToLine(rows.length + kSlack);
  return rows;
}

// Calls f(first element, row) for all rows of a side that starts at `base`.
template <class F>
void ForEachRow(const Rows& rows, int64_t base, uint8_t* memory, F f) {
  Strides index(rows.loops.size(), 0);
  for (int64_t row = 0; row < rows.count; ++row) {
    f(base, memory + kSlack + row * rows.pitch);
    for (size_t l = 0; l < index.size(); ++l) {
      base += rows.loops[l].src_stride;
      if (++index[l] < rows.loops[l].extent) break;
      base -= index[l] * rows.loops[l].src_stride;
      index[l] = 0;
    }
  }
}

class NarrowCopy {
 public:
  // Of `items` elements; `src` ends with element `src_items`.
  NarrowCopy(int64_t item_bits, int64_t items, const uint8_t* src,
             int64_t src_items, uint8_t* dst)
      : bits_(item_bits),
        total_bytes_(items * item_bits / 8),
        items_(UnitItems(item_bits)),
        log_items_(std::countr_zero(static_cast<uint64_t>(items_))),
        bytes_(UnitBytes(item_bits)),
        src_(src),
        src_end_(src + UnitAt(src_items)),
        dst_(dst) {}

  // Copies the elements of `loops`, from element `from` to element `to`.
  void Move(const Loops& loops, int64_t from, int64_t to) const {
    if (const auto squares = FindSquares(bits_, loops, from, to))
      return MoveSquares(bits_, *squares, total_bytes_, src_, from, dst_, to);
    if (const auto skewed = FindSkewed(bits_, loops))
      return MoveSkewed(bits_, *skewed, src_, from, dst_, to);
    const Strides most = BlockOf(loops);
    Strides begin(loops.size(), 0), extents(loops.size());
    for (;;) {
      int64_t s = from, d = to;
      for (size_t l = 0; l < loops.size(); ++l) {
        extents[l] = std::min(most[l], loops[l].extent - begin[l]);
        s += begin[l] * loops[l].src_stride;
        d += begin[l] * loops[l].dst_stride;
      }
      MoveOne(loops, extents, s, d);
      size_t l = loops.size();
      while (l > 0 && (begin[l - 1] += most[l - 1]) >= loops[l - 1].extent)
        begin[--l] = 0;
      if (l == 0) return;
    }
  }

 private:
  static bool Fits(const Loops& loops, const Strides& extents) {
    const Rows src = LayOut(loops, extents, &Loop::src_stride);
    const Rows dst = LayOut(loops, extents, &Loop::dst_stride);
    return src.count * src.pitch + 2 * kSlack <= kUnpackedBytes &&
           dst.count * dst.pitch + 2 * kSlack <= kUnpackedBytes;
  }

  // The extents of a block: long rows on both sides.
  static Strides BlockOf(const Loops& loops) {
    Strides extents(loops.size(), 1);
    for (int64_t Loop::*stride : {&Loop::dst_stride, &Loop::src_stride}) {
      for (size_t i = 0; i < loops.size(); ++i)
        if (loops[i].*stride < kRow)
          extents[i] =
              std::max(extents[i],
                       std::min(loops[i].extent,
                                kRow / std::max<int64_t>(1, loops[i].*stride)));
    }
    int64_t size = 1;
    for (int64_t extent : extents) size *= extent;
    for (size_t i = loops.size(); i-- > 0 && size < kBlock;) {
      const int64_t larger =
          std::min(loops[i].extent, extents[i] * (kBlock / size));
      size = size / extents[i] * larger;
      extents[i] = larger;
    }
    while (!Fits(loops, extents)) {
      int64_t& largest = *std::max_element(extents.begin(), extents.end());
      largest = (largest + 1) / 2;
    }
    return extents;
  }

  void MoveOne(const Loops& loops, const Strides& extents, int64_t from,
               int64_t to) const {
    const Rows src = LayOut(loops, extents, &Loop::src_stride);
    const Rows dst = LayOut(loops, extents, &Loop::dst_stride);
    uint8_t* const unpacked = UnpackScratch();
    uint8_t* const moved = unpacked + kUnpackedBytes;
    // Rows are too short for the hardware to see where they lead. Not past the
    // end: where nothing is mapped, that takes longer than to wait.
    const int64_t ahead =
        src.loops.empty() ? 0 : kRowsAhead * src.loops[0].src_stride;
    ForEachRow(src, from, unpacked, [&](int64_t first, uint8_t* row) {
      const int64_t phase = Phase(first);
      const uint8_t* const next = src_ + UnitAt(first + ahead);
      const uint8_t* const end = std::min(next + UnitAt(src.length), src_end_);
      for (const uint8_t* line = next; line < end; line += kLineBytes)
        __builtin_prefetch(line);
      Unpack(bits_, src_ + UnitAt(first),
             (phase + src.length + items_ - 1) >> log_items_, row - phase);
    });
    ByteCopy copy{1, {}};
    for (size_t l = 0; l < loops.size(); ++l)
      copy.loops.push_back({extents[l], src.strides[l], dst.strides[l]});
    Canonicalize(copy);
    MoveBlocks(PlanBlocks(copy, {}, BytesOf(copy), ThisMachine()),
               unpacked + kSlack, unpacked + kUnpackedBytes, moved + kSlack);
    ForEachRow(dst, to, moved, [&](int64_t first, uint8_t* row) {
      PackRow(row, first, dst.length);
    });
  }

  // Packs a row from element `first` on. The units it shares with other rows
  // keep the elements of those.
  void PackRow(uint8_t* row, int64_t first, int64_t length) const {
    const int64_t phase = Phase(first);
    const int64_t units = (phase + length + items_ - 1) >> log_items_;
    const int64_t filled = phase + length - (units - 1) * items_;
    uint8_t* const packed = dst_ + UnitAt(first);
    uint8_t unit[8];
    if (phase != 0) {
      Unpack(bits_, packed, 1, unit);
      std::memcpy(row - phase, unit, static_cast<size_t>(phase));
    }
    if (filled != items_) {
      Unpack(bits_, packed + (units - 1) * bytes_, 1, unit);
      std::memcpy(row + length, unit + filled,
                  static_cast<size_t>(items_ - filled));
    }
    Pack(bits_, row - phase, units, packed);
  }

  // Where the unit of an element begins, and which element of it this is.
  // Units hold 2, 4 or 8 elements; dividing would cost more than packing.
  int64_t UnitAt(int64_t element) const {
    return (element >> log_items_) * bytes_;
  }
  int64_t Phase(int64_t element) const { return element & (items_ - 1); }

  static constexpr int64_t kRowsAhead = 16;

  const int64_t bits_;
  const int64_t total_bytes_;
  const int64_t items_;
  const int log_items_;
  const int64_t bytes_;
  const uint8_t* const src_;
  const uint8_t* const src_end_;
  uint8_t* const dst_;
};

// The loop to cut among workers, such that none of the parts share a unit of
// the destination; loops.size() if there is none.
size_t FindCut(const Loops& loops, int64_t unit_items) {
  for (size_t l = 0; l < loops.size(); ++l) {
    if (loops[l].extent >= 2 * unit_items) return l;
    if (loops[l].dst_stride % unit_items != 0) break;
  }
  return loops.size();
}

// How many indices of `loop`, which is cut among workers, each part has: of
// rows of the source so many that each is moved in vectors, be it that there is
// no part for some of the workers, and long enough to begin it rarely.
int64_t GrainOf(const Loop& loop, int64_t bits, int64_t workers) {
  const int64_t least = UnitItems(bits);
  const auto part = [&](int64_t n) { return (loop.extent + n - 1) / n; };
  int64_t unit = least, grain = part(kTasksPerWorker * workers);
  if (loop.src_stride == 1) {
    unit *= kVectorUnits;
    // Some workers would have twice as many as others.
    if (loop.extent < 2 * workers * unit && loop.extent % (workers * unit) != 0)
      unit /= 2;
    while (unit > least && loop.extent < 2 * unit) unit /= 2;
    grain = std::max(grain, std::min(kRowUnits * least, part(workers)));
  }
  return (grain + unit - 1) / unit * unit;
}

}  // namespace

void MoveNarrow(const Plan& plan, const uint8_t* src, uint8_t* dst) {
  const int64_t bits = plan.item_bits, unit_items = UnitItems(bits);
  const int64_t items = BitsOf(plan) / bits;
  Loops loops = plan.loops;
  for (Loop& loop : loops) loop.src_stride /= bits, loop.dst_stride /= bits;
  if (plan.run > bits) loops.push_back({plan.run / bits, 1, 1});
  const int64_t from = plan.src_offset / bits, to = plan.dst_offset / bits;
  int64_t src_items = from + 1;
  for (const Loop& loop : loops)
    src_items += (loop.extent - 1) * loop.src_stride;
  if ((to + items) % unit_items != 0)
    std::memset(dst + (to + items) / unit_items * UnitBytes(bits), 0,
                static_cast<size_t>(UnitBytes(bits)));
  const NarrowCopy copy(bits, items, src, src_items, dst);
  // Elements that are unpacked cost about twice as much as bytes, bytes that
  // are not three times.
  const int64_t bytes =
      FindSquares(bits, loops, from, to) || FindSkewed(bits, loops)
          ? items / unit_items * 3
          : 2 * items;
  const int64_t workers = WorkersFor(bytes);
  const size_t cut = FindCut(loops, unit_items);
  if (workers == 1 || cut == loops.size()) return copy.Move(loops, from, to);
  const Loop loop = loops[cut];
  const int64_t grain = GrainOf(loop, bits, workers);
  ForEachTask(bytes, (loop.extent + grain - 1) / grain, [&](int64_t part) {
    const int64_t begin = part * grain;
    Loops rest = loops;
    rest[cut].extent = std::min(grain, loop.extent - begin);
    copy.Move(rest, from + begin * loop.src_stride,
              to + begin * loop.dst_stride);
  });
}

}  // namespace axis
