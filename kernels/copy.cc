#include "kernels/copy.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/copy/byte_copy.h"
#include "kernels/copy/gather/gather.h"
#include "kernels/copy/narrow/narrow.h"
#include "kernels/copy/narrow/pack.h"
#include "kernels/copy/partition.h"
#include "kernels/copy/tasks.h"
#include "kernels/copy/tiny.h"

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
  Whole(Pieces pieces, BufferPool* pool) {
    if (pieces.size() == 1) bytes_ = pieces[0];
    if (pieces.size() > 1) Join(pieces, pool);
  }
  std::span<const std::byte> bytes() const { return bytes_; }
  int64_t joined_bytes() const {
    return joined_ ? static_cast<int64_t>(bytes_.size()) : 0;
  }

 private:
  void Join(Pieces pieces, BufferPool* pool) {
    std::vector<size_t> begins;
    size_t size = 0;
    for (std::span<const std::byte> piece : pieces) {
      begins.push_back(size);
      size += piece.size();
    }
    std::byte* const joined = Allocate(size, pool);
    bytes_ = {joined, size};
    joined_ = true;
    ForEachTask(static_cast<int64_t>(size), pieces.size(), [&](size_t i) {
      std::copy(pieces[i].begin(), pieces[i].end(), joined + begins[i]);
    });
  }

  std::byte* Allocate(size_t size, BufferPool* pool) {
    if (pool != nullptr) pooled_ = pool->Get(static_cast<int64_t>(size));
    if (pooled_ == nullptr) heap_.reset(new std::byte[size]);
    return pooled_ != nullptr ? pooled_.get() : heap_.get();
  }

  PooledBuffer pooled_;
  std::unique_ptr<std::byte[]> heap_;
  bool joined_ = false;
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

// REQUIRES: IsWholeUnits(plan).
Move MoveOf(const Plan& plan, const uint8_t* src, std::byte* dst) {
  Move move;
  move.copy.item = plan.run / 8;
  for (const Loop& loop : plan.loops)
    move.copy.loops.push_back(
        {loop.extent, loop.src_stride / 8, loop.dst_stride / 8});
  move.src = src + plan.src_offset / 8;
  move.dst = Bytes(dst) + plan.dst_offset / 8;
  return move;
}

int64_t SizeOf(Pieces pieces) {
  int64_t size = 0;
  for (std::span<const std::byte> piece : pieces)
    size += static_cast<int64_t>(piece.size());
  return size;
}

// Below this, what a cut costs is more than bringing the pieces together.
constexpr int64_t kPieceBytes = 128 << 10;

// Runs of the destination that a piece fills should be at least this long.
constexpr int64_t kRunBytes = 256;

// Whether the pieces are so few and large that reading each where it lies is
// faster than one more pass over all of them: a piece must hold enough rows of
// the source to fill more than splinters of the destination.
bool ReadsInPlace(Pieces pieces, std::span<const Target> targets) {
  const int64_t piece =
      SizeOf(pieces) / static_cast<int64_t>(std::max<size_t>(1, pieces.size()));
  if (piece < kPieceBytes) return false;
  return std::all_of(targets.begin(), targets.end(), [&](const Target& t) {
    const Plan& plan = *t.plan;
    if (!plan.places.empty()) return false;
    if (plan.loops.empty()) return true;
    if (!IsWholeUnits(plan)) return false;
    const Loop& inner = plan.loops.back();
    const int64_t rows =
        std::min(inner.extent,
                 piece * 8 / std::max<int64_t>(inner.src_stride, plan.run));
    return rows == inner.extent || rows * plan.run / 8 >= kRunBytes;
  });
}

// What `targets` get, in bytes.
int64_t BytesOf(std::span<const Target> targets) {
  int64_t bits = 0;
  for (const Target& target : targets) bits += BitsOf(*target.plan);
  return bits / 8;
}

// Copies from pieces where they lie. Only the items that two pieces share are
// brought together, one by one.
class PieceReader {
 public:
  explicit PieceReader(std::span<const Target> targets)
      : targets_(targets),
        total_bytes_(BytesOf(targets)),
        item_(std::max<int64_t>(targets[0].plan->item_bits / 8,
                                UnitBytes(targets[0].plan->item_bits))) {}

  void Read(std::span<const std::byte> piece) {
    if (held_ > 0) {  // the rest of an item that an earlier piece began
      const size_t n =
          std::min(piece.size(), static_cast<size_t>(item_) - held_);
      std::copy_n(piece.begin(), n, shared_ + held_);
      held_ += n;
      piece = piece.subspan(n);
      if (held_ < static_cast<size_t>(item_)) return;
      CopyItems({shared_, held_});
      held_ = 0;
    }
    const size_t whole =
        piece.size() - piece.size() % static_cast<size_t>(item_);
    if (whole > 0) CopyItems(piece.first(whole));
    held_ = piece.size() - whole;
    std::copy_n(piece.begin() + static_cast<ptrdiff_t>(whole), held_, shared_);
  }

 private:
  // The next items of the source.
  void CopyItems(std::span<const std::byte> items) {
    const int64_t size = static_cast<int64_t>(items.size());
    moves_.clear();
    for (const Target& target : targets_)
      ForEachPart(
          *target.plan, at_ * 8, (at_ + size) * 8, [&](const Plan& plan) {
            Plan part = plan;
            part.src_offset -= at_ * 8;
            moves_.push_back(MoveOf(part, Bytes(items.data()), target.dst));
            Canonicalize(moves_.back().copy);
          });
    at_ += size;
    if (!moves_.empty())
      MoveAll(moves_, Bytes(items.data() + items.size()), total_bytes_);
  }

  const std::span<const Target> targets_;
  const int64_t total_bytes_;  // not of a piece: a cache holds all or nothing
  const int64_t item_;         // bytes that only make sense together
  int64_t at_ = 0;             // where in the source the next item lies
  std::byte shared_[16] = {};  // an item that lies in several pieces
  size_t held_ = 0;            // how much of it is here
  std::vector<Move> moves_;
};

}  // namespace

int64_t Copy(Pieces src, std::span<const Target> targets, BufferPool* pool) {
  if (src.size() == 1 && targets.size() == 1 &&
      CopyTiny(*targets[0].plan, src[0].data(), targets[0].dst))
    return 0;
  if (src.size() > 1 && !targets.empty() && ReadsInPlace(src, targets)) {
    PieceReader reader(targets);
    for (std::span<const std::byte> piece : src) reader.Read(piece);
    return 0;
  }
  const Whole whole(src, pool);
  const std::byte* const from = whole.bytes().data();
  const uint8_t* const end = Bytes(from + whole.bytes().size());
  const int64_t total_bytes = BytesOf(targets);
  std::vector<Move> moves;
  for (const Target& target : targets) {
    if (target.plan->run == 0 || CopyTiny(*target.plan, from, target.dst))
      continue;
    if (!target.plan->places.empty()) {
      const Move move = MoveOf(*target.plan, Bytes(from), target.dst);
      MoveGather(move.copy, target.plan->places, move.src, end, move.dst);
    } else if (!IsWholeUnits(*target.plan)) {
      MoveNarrow(*target.plan, Bytes(from), Bytes(target.dst));
    } else if (targets.size() == 1) {
      const Move move = MoveOf(*target.plan, Bytes(from), target.dst);
      MoveAll({&move, 1}, end, total_bytes);
    } else {
      moves.push_back(MoveOf(*target.plan, Bytes(from), target.dst));
    }
  }
  if (!moves.empty()) MoveAll(moves, end, total_bytes);
  return whole.joined_bytes();
}

}  // namespace axis
