#include "kernels/copy.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/copy/byte_copy.h"
#include "kernels/copy/narrow.h"
#include "kernels/copy/pack.h"
#include "kernels/copy/partition.h"
#include "kernels/copy/tasks.h"

namespace axis {
namespace {

using Pieces = std::span<const std::span<const std::byte>>;

const uint8_t* Bytes(const std::byte* p) {
  return reinterpret_cast<const uint8_t*>(p);
}
uint8_t* Bytes(std::byte* p) { return reinterpret_cast<uint8_t*>(p); }

// A source that lies in one piece, if need be after it was brought together.
class Whole {
 public:
  explicit Whole(Pieces pieces) {
    if (pieces.size() == 1) bytes_ = pieces[0];
    if (pieces.size() > 1) Join(pieces);
  }
  std::span<const std::byte> bytes() const { return bytes_; }
  int64_t joined_bytes() const {
    return joined_ == nullptr ? 0 : static_cast<int64_t>(bytes_.size());
  }

 private:
  void Join(Pieces pieces) {
    std::vector<size_t> begins;
    size_t size = 0;
    for (std::span<const std::byte> piece : pieces) {
      begins.push_back(size);
      size += piece.size();
    }
    joined_.reset(new std::byte[size]);
    bytes_ = {joined_.get(), size};
    ForEachTask(static_cast<int64_t>(size), pieces.size(), [&](size_t i) {
      std::copy(pieces[i].begin(), pieces[i].end(), joined_.get() + begins[i]);
    });
  }

  std::unique_ptr<std::byte[]> joined_;
  std::span<const std::byte> bytes_;
};

// Whether everything about `plan` is whole storage units: bytes, or for 3- and
// 6-bit elements groups of 3. It then is a copy of bytes.
bool IsWholeUnits(const Plan& plan) {
  if (plan.item_bits % 8 == 0) return true;
  const int64_t unit = UnitBytes(plan.item_bits) * 8;
  auto whole = [&](int64_t n) { return n % unit == 0; };
  return whole(plan.src_offset) && whole(plan.dst_offset) && whole(plan.run) &&
         std::all_of(plan.loops.begin(), plan.loops.end(), [&](const Loop& l) {
           return whole(l.src_stride) && whole(l.dst_stride);
         });
}

// REQUIRES: IsWholeUnits(*target.plan).
Move MoveOf(const Target& target, const std::byte* src) {
  const Plan& plan = *target.plan;
  Move move{.copy = {plan.run / 8, plan.loops},
            .src = Bytes(src) + plan.src_offset / 8,
            .dst = Bytes(target.dst) + plan.dst_offset / 8,
            .columns = {}};
  for (Loop& loop : move.copy.loops) {
    loop.src_stride /= 8;
    loop.dst_stride /= 8;
  }
  return move;
}

}  // namespace

int64_t Copy(Pieces src, std::span<const Target> targets) {
  const Whole whole(src);
  const std::byte* const from = whole.bytes().data();
  const uint8_t* const end = Bytes(from + whole.bytes().size());
  std::vector<Move> moves;
  for (const Target& target : targets) {
    if (target.plan->run == 0) continue;
    if (!IsWholeUnits(*target.plan)) {
      MoveNarrow(*target.plan, Bytes(from), Bytes(target.dst));
    } else if (targets.size() == 1) {
      const Move move = MoveOf(target, from);
      MoveAll({&move, 1}, end);
    } else {
      moves.push_back(MoveOf(target, from));
    }
  }
  if (!moves.empty()) MoveAll(moves, end);
  return whole.joined_bytes();
}

}  // namespace axis
