#include "kernels/copy/digits/digits.h"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "kernels/copy/block.h"
#include "kernels/copy/plan/side.h"
#include "kernels/copy/plan/spacing.h"

namespace axis {
namespace {

// Lines are written whole, and that much of the source is read together.
constexpr int64_t kRunBytes = 64;
constexpr int64_t kReadBytes = 256;

// Blocks with a side below a line are too small if so little is moved before
// the next ones begin; those that are interleaved or taken apart take less time
// to.
constexpr int64_t kTransposedBytes = 64 << 10;
constexpr int64_t kInterleavedBytes = 4 << 10;

// The largest power of two that divides `extent` and is at most `most`.
int64_t PowerOfTwo(int64_t extent, int64_t most) {
  int64_t power = 1;
  while (2 * power <= most && extent % (2 * power) == 0) power *= 2;
  return power;
}

// Takes the innermost `part` of loop `i`, and leaves the rest.
Loop TakePart(Loops& loops, size_t i, int64_t part) {
  Loop& loop = loops[i];
  if (part == loop.extent) return Take(loops, i);
  const Loop taken = {part, loop.src_stride, loop.dst_stride};
  loop = {loop.extent / part, loop.src_stride * part, loop.dst_stride * part};
  return taken;
}

// Moves to `digits` what makes a vector of items of `item` bytes, along
// `stride`; to `shared` what `others` have of that. Whether there is enough.
bool TakeVector(Loops& loops, int64_t Loop::*stride, int64_t item,
                Loops& others, Loops& shared, Loops& digits) {
  constexpr int64_t kVector = Digits::kVector;
  for (int64_t bytes = item; bytes < kVector;) {
    const auto other = Find(others, stride, bytes);
    const auto next = other ? other : Find(loops, stride, bytes);
    if (!next) return false;
    Loops& from = other ? others : loops;
    const int64_t part = PowerOfTwo(from[*next].extent, kVector / bytes);
    if (part == 1) return false;
    (other ? shared : digits).push_back(TakePart(from, *next, part));
    bytes *= part;
  }
  return true;
}

// Moves loops to `inner` that go on along `stride` where vectors end, or parts
// of them, until they come to `most` bytes, with what is `known` already.
void TakeOn(Loops& loops, int64_t Loop::*stride, int64_t most,
            const Loops& known, Loops& inner) {
  for (int64_t bytes = Digits::kVector; bytes < most;) {
    if (const auto next = Find(known, stride, bytes)) {
      bytes *= known[*next].extent;
    } else if (const auto taken = Find(inner, stride, bytes)) {
      bytes *= inner[*taken].extent;
    } else {
      const auto found = Find(loops, stride, bytes);
      if (!found) return;
      const int64_t part = LargestDivisor(loops[*found].extent, most / bytes);
      if (part == 1) return;
      inner.push_back(TakePart(loops, *found, part));
      bytes *= part;
    }
  }
}

// Writes where `loops` are at each of their indices, those of the first one
// first; returns how many there are.
size_t ListOffsets(const Loops& loops, std::span<Offsets> offsets) {
  size_t count = 1;
  offsets[0] = {0, 0};
  for (const Loop& loop : loops) {
    for (int64_t i = 1; i < loop.extent; ++i)
      for (size_t k = 0; k < count; ++k)
        offsets[static_cast<size_t>(i) * count + k] = {
            offsets[k].src + i * loop.src_stride,
            offsets[k].dst + i * loop.dst_stride};
    count *= static_cast<size_t>(loop.extent);
  }
  return count;
}

bool Shuffles(std::span<const uint8_t> places) {
  for (size_t i = 0; i < places.size(); ++i)
    if (places[i] != i) return true;
  return false;
}

}  // namespace

bool FindDigits(const ByteCopy& copy, Digits& digits) {
  if (!IsTransposable(copy.item)) return false;
  Loops loops = copy.loops, none, both, written, read;
  if (!TakeVector(loops, &Loop::dst_stride, copy.item, none, none, written) ||
      !TakeVector(loops, &Loop::src_stride, copy.item, written, both, read))
    return false;
  // In the order of the destination there may be nothing to do afterwards.
  std::ranges::sort(both, {}, &Loop::dst_stride);

  std::array<Offsets, Digits::kVector> in_both, in_written, in_read;
  const size_t together = ListOffsets(both, in_both);
  digits.num = ListOffsets(written, in_written);
  ListOffsets(read, in_read);
  const auto item = static_cast<size_t>(copy.item);
  for (size_t k = 0; k < digits.num; ++k) {
    digits.src[k] = in_written[k].src;
    digits.dst[k] = in_read[k].dst;
    for (size_t i = 0; i < together; ++i)
      for (size_t byte = 0; byte < item; ++byte) {
        const size_t at = (k * together + i) * item + byte;
        const auto src = static_cast<size_t>(in_read[k].src + in_both[i].src);
        const auto dst =
            static_cast<size_t>(in_written[k].dst + in_both[i].dst);
        digits.before[at] = static_cast<uint8_t>(src + byte);
        digits.after[dst + byte] = static_cast<uint8_t>(at);
      }
  }

  Loops inner;
  TakeOn(loops, &Loop::dst_stride, kRunBytes, read, inner);
  TakeOn(loops, &Loop::src_stride, kReadBytes, written, inner);
  // The source is read from end to end, as far as that goes.
  std::ranges::sort(loops, std::greater(), &Loop::src_stride);
  int64_t places = 1;
  for (const Loop& loop : inner) places *= loop.extent;
  while (!loops.empty()) {
    const int64_t part =
        LargestDivisor(loops.back().extent, Digits::kMostPlaces / places);
    if (part == 1) break;
    inner.push_back(TakePart(loops, loops.size() - 1, part));
    places *= part;
  }
  digits.num_places = ListOffsets(inner, digits.places);
  digits.shuffles_before = Shuffles(digits.before);
  digits.shuffles_after = Shuffles(digits.after);
  digits.outer = std::move(loops);
  return true;
}

bool AreTooSmall(const BlockPlan& plan, const Machine& machine) {
  if (!plan.columns.empty()) return false;
  const int64_t a = plan.a.extent * plan.item, b = plan.b.extent * plan.item;
  const int64_t side = std::min(a, b);
  const int64_t in_one_go = a * plan.b.extent * plan.batch.extent;
  const bool interleaves = plan.kernel == Kernel::kInterleave ||
                           plan.kernel == Kernel::kDeinterleave;
  if (plan.kernel != Kernel::kTranspose && !interleaves) return false;
  // With lookups not measured: so only where blocks are smallest.
  if (machine.LooksUp()) return side < kPiece && in_one_go <= kInterleavedBytes;
  if (interleaves) return side < kLineBytes && in_one_go <= kInterleavedBytes;
  if (side < kLineBytes && in_one_go <= kTransposedBytes) return true;
  // Sides below a vector are, unless they are of small matrices that follow one
  // another.
  if (side < kPiece)
    return std::max(a, b) >= kLineBytes / 2 || plan.b.loops[0].dst_stride != a;
  // Rows that lie apart are looked up one by one. Of bytes and most pairs the
  // shuffles take longer.
  const bool rows_apart = plan.a.num_loops > 1;
  if (plan.item == 2) return side == kPiece && (rows_apart || plan.fetch);
  return side <= 2 * kPiece && (rows_apart || plan.b.num_loops > 1) &&
         (plan.item == 4 || plan.item == 8);
}

}  // namespace axis
