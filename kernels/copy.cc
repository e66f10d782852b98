#include "kernels/copy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
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

// The items of a source that lies in pieces, where they lie. Only those that
// several pieces share are brought together, one by one.
class Items {
 public:
  struct Part {
    int64_t at;  // where in the source it begins, in bytes
    std::span<const std::byte> bytes;
  };

  // Items of `item` bytes.
  Items(Pieces pieces, int64_t item) {
    shared_.reserve(pieces.size());
    size_t held = 0;  // how much of the last shared item is here
    for (std::span<const std::byte> piece : pieces) {
      const auto size = static_cast<size_t>(item);
      if (held > 0) {
        const size_t n = std::min(piece.size(), size - held);
        std::copy_n(piece.begin(), n, shared_.back().data() + held);
        held = (held + n) % size;
        piece = piece.subspan(n);
        if (held == 0) Add({shared_.back().data(), size});
      }
      const size_t rest = piece.size() % size;
      Add(piece.first(piece.size() - rest));
      if (rest == 0) continue;
      std::ranges::copy(piece.last(rest), shared_.emplace_back().begin());
      held = rest;
    }
  }

  Items(const Items&) = delete;  // the parts point into it
  Items& operator=(const Items&) = delete;

  std::span<const Part> parts() const { return parts_; }

 private:
  void Add(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    parts_.push_back({at_, bytes});
    at_ += static_cast<int64_t>(bytes.size());
  }

  int64_t at_ = 0;
  std::vector<Part> parts_;
  std::vector<std::array<std::byte, 16>> shared_;
};

// Copies `part` of a source to all of `targets`, which get `total_bytes` of all
// parts together: a cache holds all or nothing.
void CopyPart(const Items::Part& part, std::span<const Target> targets,
              int64_t total_bytes) {
  const int64_t end = part.at + static_cast<int64_t>(part.bytes.size());
  absl::InlinedVector<Move, 4> moves;
  for (const Target& target : targets)
    ForEachPart(*target.plan, part.at * 8, end * 8, [&](const Plan& plan) {
      Plan of_part = plan;
      of_part.src_offset -= part.at * 8;
      moves.push_back(MoveOf(of_part, Bytes(part.bytes.data()), target.dst));
      Canonicalize(moves.back().copy);
    });
  if (!moves.empty())
    MoveAll(moves, Bytes(part.bytes.data() + part.bytes.size()), total_bytes);
}

// Copies from `pieces` where they lie, several at a time.
void CopyInPlace(Pieces pieces, std::span<const Target> targets) {
  const Plan& plan = *targets[0].plan;
  const Items items(
      pieces, std::max<int64_t>(plan.item_bits / 8, UnitBytes(plan.item_bits)));
  const int64_t total_bytes = BytesOf(targets);
  ForEachTask(total_bytes, items.parts().size(), [&](size_t i) {
    CopyPart(items.parts()[i], targets, total_bytes);
  });
}

}  // namespace

int64_t Copy(Pieces src, std::span<const Target> targets, BufferPool* pool) {
  if (src.size() == 1 && targets.size() == 1 &&
      CopyTiny(*targets[0].plan, src[0].data(), targets[0].dst))
    return 0;
  if (src.size() > 1 && !targets.empty() && ReadsInPlace(src, targets)) {
    CopyInPlace(src, targets);
    return 0;
  }
  const Whole whole(src, pool);
  const std::byte* const from = whole.bytes().data();
  const uint8_t* const end = Bytes(from + whole.bytes().size());
  const int64_t total_bytes = BytesOf(targets);
  absl::InlinedVector<Move, 4> moves;
  for (const Target& target : targets) {
    if (target.plan->run == 0 || CopyTiny(*target.plan, from, target.dst) ||
        (total_bytes < kSerialBytes &&
         CopySingleRun(*target.plan, from, target.dst)))
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
