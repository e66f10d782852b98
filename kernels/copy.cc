#include "kernels/copy.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/copy/byte_copy.h"
#include "kernels/copy/partition.h"

namespace axis {
namespace {

// Calls f(src_offset, dst_offset) for the n-th index of `loops`.
template <class F>
void At(std::span<const Loop> loops, int64_t n, F f) {
  int64_t src = 0, dst = 0;
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    const int64_t i = n % loop->extent;
    n /= loop->extent;
    src += i * loop->src_stride;
    dst += i * loop->dst_stride;
  }
  f(src, dst);
}

int64_t CountOf(std::span<const Loop> loops) {
  int64_t count = 1;
  for (const Loop& loop : loops) count *= loop.extent;
  return count;
}

// Elements narrower than a byte, by their bit offset as if packed without
// structure. Storage order is OpenVINO's: 4-bit elements fill a byte from the
// low end, 1- and 2-bit ones from the high end; 3- and 6-bit ones split their
// low and high bits within groups of 3 bytes.
class NarrowItem {
 public:
  NarrowItem(int64_t item_bits, int64_t offset) {
    if (item_bits == 3 || item_bits == 6) {
      const int64_t low_bits = item_bits == 3 ? 2 : 4;
      const int64_t high_bits = item_bits - low_bits;
      const int64_t base = offset / 24 * 3;
      const int64_t k = offset % 24 / item_bits;
      const int64_t per_byte = 8 / low_bits;
      low_ = {base + k / per_byte, 8 - low_bits * (k % per_byte + 1), low_bits};
      high_ = {base + 2, 8 - high_bits * (k + 1), high_bits};
    } else {
      const int64_t at = offset % 8;
      low_ = {offset / 8, item_bits == 4 ? at : 8 - item_bits - at, item_bits};
    }
  }

  unsigned Get(const std::byte* data) const {
    return low_.Get(data) | high_.Get(data) << low_.bits;
  }
  // REQUIRES: the bits are zero so far.
  void Put(std::byte* data, unsigned value) const {
    low_.Put(data, value);
    high_.Put(data, value >> low_.bits);
  }

 private:
  struct Field {
    int64_t byte = 0, shift = 0, bits = 0;
    unsigned Get(const std::byte* data) const {
      return bits == 0 ? 0
                       : std::to_integer<unsigned>(data[byte]) >> shift &
                             ((1u << bits) - 1);
    }
    void Put(std::byte* data, unsigned value) const {
      if (bits != 0)
        data[byte] |= std::byte((value & ((1u << bits) - 1)) << shift);
    }
  };
  Field low_, high_;
};

void CopyNarrow(const Plan& plan, const std::byte* src, std::byte* dst) {
  const int64_t bits = plan.item_bits;
  std::memset(dst, 0,
              static_cast<size_t>(PackedBytes(BitsOf(plan) / bits, bits)));
  const int64_t count = CountOf(plan.loops);
  for (int64_t n = 0; n < count; ++n)
    At(plan.loops, n, [&](int64_t s, int64_t d) {
      for (int64_t i = 0; i < plan.run; i += bits)
        NarrowItem(bits, plan.dst_offset + d + i)
            .Put(dst, NarrowItem(bits, plan.src_offset + s + i).Get(src));
    });
}

bool IsWholeBytes(const Plan& plan) {
  const int64_t unit = plan.item_bits % 3 == 0 ? 24 : 8;
  auto whole = [&](int64_t n) { return n % unit == 0; };
  return whole(plan.src_offset) && whole(plan.dst_offset) && whole(plan.run) &&
         std::all_of(plan.loops.begin(), plan.loops.end(), [&](const Loop& l) {
           return whole(l.src_stride) && whole(l.dst_stride);
         });
}

ByteCopy ToBytes(const Plan& plan) {
  ByteCopy copy{plan.run / 8, plan.loops};
  for (Loop& loop : copy.loops) loop.src_stride /= 8, loop.dst_stride /= 8;
  return copy;
}

}  // namespace

int64_t Copy(std::span<const std::span<const std::byte>> src,
             std::span<const Target> targets) {
  size_t gathered = 0;
  std::unique_ptr<std::byte[]> joined;
  std::span<const std::byte> from;
  if (src.size() == 1) from = src[0];
  if (src.size() > 1) {
    for (std::span<const std::byte> piece : src) gathered += piece.size();
    joined.reset(new std::byte[gathered]);
    from = {joined.get(), gathered};
    std::byte* to = joined.get();
    for (std::span<const std::byte> piece : src)
      to = std::copy(piece.begin(), piece.end(), to);
  }
  absl::InlinedVector<Move, 1> moves;
  for (const Target& target : targets) {
    const Plan& plan = *target.plan;
    if (plan.run == 0) continue;
    if (IsWholeBytes(plan)) {
      moves.push_back(
          {ToBytes(plan),
           reinterpret_cast<const uint8_t*>(from.data()) + plan.src_offset / 8,
           reinterpret_cast<uint8_t*>(target.dst) + plan.dst_offset / 8,
           {}});
    } else {
      CopyNarrow(plan, from.data(), target.dst);
    }
  }
  if (!moves.empty())
    MoveAll(moves, reinterpret_cast<const uint8_t*>(from.data() + from.size()));
  return static_cast<int64_t>(gathered);
}

}  // namespace axis
