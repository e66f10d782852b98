#include "kernels/copy/digits/digits.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "kernels/copy/block.h"
#include "kernels/copy/digits/tile.h"
#include "kernels/copy/plan/side.h"
#include "kernels/copy/plan/spacing.h"

namespace axis {
namespace {

// Blocks with a side below a line are too small if so little is moved before
// the next ones begin; those that are interleaved or taken apart take less time
// to.
constexpr int64_t kTransposedBytes = 64 << 10;
constexpr int64_t kInterleavedBytes = 4 << 10;

// With lookups blocks take less time: too small are those before so little, of
// what is transposed or else interleaved, and with rows below a line if one
// repetition is so small.
constexpr int64_t kLookedUpBytes = 4 << 10, kLookedUpRows = 6 << 10;
constexpr int64_t kLookedUpBlock = 2 << 10;

// Nothing is too much for blocks that begin anew after so little.
constexpr int64_t kTinyBytes = 1 << 10;

// Blocks with no more items of 1, 2, 4 and 8 bytes on a side take longer than
// windows; of rows that lie apart, there may be more.
constexpr int64_t kMostItems[] = {6, 7, 3, 3};
constexpr int64_t kMostOfRows[] = {10, 7, 6, 5};

// The largest power of two that divides `extent` and is at most `most`.
int64_t PowerOfTwo(int64_t extent, int64_t most) {
  int64_t power = 1;
  while (2 * power <= most && extent % (2 * power) == 0) power *= 2;
  return power;
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

// The sides of blocks that have both, in bytes.
struct Sides {
  explicit Sides(const BlockPlan& plan) {
    const int64_t a = plan.a.extent * plan.item;
    const int64_t b = plan.b.extent * plan.item;
    row = b;
    shorter = std::min(a, b);
    longer = std::max(a, b);
    repetition = a * plan.b.extent;
    in_one_go = repetition * plan.batch.extent;
    are_packed = longer < kLineBytes / 2 && plan.b.loops[0].dst_stride == a;
  }
  int64_t row, shorter, longer;
  int64_t repetition;
  int64_t in_one_go;  // before the next ones begin
  bool are_packed;    // small matrices that follow one another
};

bool Interleaves(const BlockPlan& plan) {
  return plan.kernel == Kernel::kInterleave ||
         plan.kernel == Kernel::kDeinterleave;
}

// Whether a side has so few items that blocks take longer than windows.
bool HasFewItems(const BlockPlan& plan) {
  const size_t width = plan.item == 1   ? 0
                       : plan.item == 2 ? 1
                       : plan.item == 4 ? 2
                                        : 3;
  const bool rows_apart = plan.a.num_loops > 1;
  const int64_t most = rows_apart && plan.b.extent < plan.a.extent
                           ? kMostOfRows[width]
                           : kMostItems[width];
  return std::min(plan.a.extent, plan.b.extent) <= most;
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
  TakeOn(loops, &Loop::dst_stride, Digits::kVector, kRunBytes, read, inner);
  TakeOn(loops, &Loop::src_stride, Digits::kVector, kReadBytes, written, inner);
  FillPlaces(digits, loops, inner, Digits::kMostPlaces);
  digits.shuffles_before = Shuffles(digits.before);
  digits.shuffles_after = Shuffles(digits.after);
  return true;
}

bool AreTooSmall(const BlockPlan& plan, const Machine& machine) {
  const bool interleaves = Interleaves(plan);
  if (!plan.columns.empty() || plan.tiles ||
      (plan.kernel != Kernel::kTranspose && !interleaves))
    return false;
  const Sides sides(plan);
  const bool repeats_little = sides.in_one_go <= kTransposedBytes;
  if (machine.LooksUp()) {
    const bool small = sides.shorter < kPiece
                           ? repeats_little || !sides.are_packed
                           : repeats_little && sides.row < kLineBytes &&
                                 sides.repetition <= kLookedUpBlock;
    // What is interleaved past the caches is asked for ahead.
    return plan.item < kPiece && !(interleaves && plan.stream) &&
           (interleaves ? sides.in_one_go <= kLookedUpRows
                        : sides.in_one_go <= kLookedUpBytes || small);
  }
  if (sides.shorter < kLineBytes &&
      (interleaves ? sides.in_one_go <= kInterleavedBytes : repeats_little))
    return true;
  if (interleaves) return false;
  if (sides.shorter < kPiece) return !sides.are_packed;
  // Rows that lie apart are looked up one by one. Of bytes and most pairs the
  // shuffles take longer.
  const bool rows_apart = plan.a.num_loops > 1;
  if (plan.item == 2)
    return sides.shorter == kPiece && (rows_apart || plan.fetch);
  return sides.shorter <= 2 * kPiece && (rows_apart || plan.b.num_loops > 1) &&
         (plan.item == 4 || plan.item == 8);
}

Wanted WindowsFor(const BlockPlan& plan, const Machine& machine) {
  const bool transposes = plan.kernel == Kernel::kTranspose;
  if (!plan.columns.empty() || plan.tiles ||
      !(transposes || Interleaves(plan)) || plan.item >= kPiece)
    return Wanted::kNone;
  const Sides sides(plan);
  const bool one_matrix = plan.a.num_loops == 1 && plan.b.num_loops == 1;
  if (machine.LooksUp()) {
    if (sides.in_one_go <= kTinyBytes &&
        (!one_matrix || sides.longer < kLineBytes))
      return Wanted::kAny;
    if (!transposes || one_matrix || !HasFewItems(plan)) return Wanted::kNone;
    return sides.in_one_go <= kInterleavedBytes ? Wanted::kAny
                                                : Wanted::kLookedUp;
  }
  if (!transposes || (one_matrix && sides.in_one_go > kInterleavedBytes))
    return Wanted::kNone;
  if (HasFewItems(plan)) return Wanted::kAny;
  return sides.shorter < kPiece ? Wanted::kLookedUp : Wanted::kNone;
}

}  // namespace axis
