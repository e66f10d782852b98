#include "kernels/copy/pieces/pieces.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "kernels/copy/block.h"
#include "kernels/copy/byte_copy.h"
#include "kernels/copy/memory/memory.h"
#include "kernels/copy/partition/partition.h"
#include "kernels/copy/pieces/bands.h"
#include "kernels/copy/tasks.h"

namespace axis {
namespace {

// Below this, in all or for each target, what a cut costs is more than bringing
// the pieces together; below the last, what a band does.
constexpr int64_t kPieceBytes = 64 << 10, kTargetBytes = 8 << 10;
constexpr int64_t kBandedBytes = 128 << 10;

// Runs of the destination that are this long may begin anywhere.
constexpr int64_t kRunBytes = 256;

// What two pieces share is one part in so many of a piece, or fewer if nothing
// else keeps lines whole.
constexpr int64_t kUnitsPerPiece = 32, kFewUnitsPerPiece = 4;

int64_t SizeOf(Pieces pieces) {
  int64_t size = 0;
  for (std::span<const std::byte> piece : pieces)
    size += static_cast<int64_t>(piece.size());
  return size;
}

// What of the source is best not divided, in bytes, if it comes in pieces of
// `piece` bytes: the most that begins a line of the destination wherever it
// begins. Two parts that write a line would each read it first, or worse, if
// others are streamed. 0 if a piece has too little for whole lines.
// REQUIRES: IsWholeUnits(plan).
int64_t UnitOf(const Plan& plan, int64_t piece) {
  const int64_t row = plan.loops.empty() ? 0 : plan.loops.back().src_stride / 8;
  int64_t unit = std::lcm(kLineBytes, UnitBytes(plan.item_bits));
  int64_t beyond = piece;
  for (const Loop& loop : plan.loops) {
    const int64_t bytes = kLineBytes /
                          std::gcd(kLineBytes, loop.dst_stride / 8) *
                          (loop.src_stride / 8);
    if (bytes <= piece / kUnitsPerPiece) {
      unit = std::max(unit, bytes);
    } else if (bytes >= row) {
      beyond = std::min(beyond, bytes);
    }
  }
  if (unit >= row || plan.run / 8 >= kRunBytes) return unit;
  return beyond <= piece / kFewUnitsPerPiece ? beyond : 0;
}

// A source that lies in pieces, as parts that lie in one, of whole units but
// for the last. Only a unit that several pieces share is brought together.
class Parts {
 public:
  struct Part {
    int64_t at;  // where in the source it begins, in bytes
    std::span<const std::byte> bytes;
  };

  Parts(Pieces pieces, int64_t unit, BufferPool* pool)
      : shared_(std::ssize(pieces) * unit, pool) {
    std::byte* shared = shared_.data();
    const auto size = static_cast<size_t>(unit);
    size_t held = 0;  // how much of the shared unit is here
    for (std::span<const std::byte> piece : pieces) {
      if (held > 0) {
        const size_t n = std::min(piece.size(), size - held);
        std::copy_n(piece.begin(), n, shared + held);
        held += n;
        piece = piece.subspan(n);
        if (held < size) continue;
        Add({shared, size});
        shared += size;
      }
      held = piece.size() % size;
      Add(piece.first(piece.size() - held));
      std::ranges::copy(piece.last(held), shared);
    }
    Add({shared, held});
  }

  Parts(const Parts&) = delete;  // they point into it
  Parts& operator=(const Parts&) = delete;

  std::span<const Part> parts() const { return parts_; }

 private:
  void Add(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    parts_.push_back({at_, bytes});
    at_ += static_cast<int64_t>(bytes.size());
  }

  int64_t at_ = 0;
  std::vector<Part> parts_;
  const Memory shared_;
};

// Copies `part` of a source to all of `targets`, which get `total_bytes` of all
// parts together: a cache holds all or nothing.
void CopyPart(const Parts::Part& part, std::span<const Target> targets,
              int64_t total_bytes) {
  const int64_t end = part.at + static_cast<int64_t>(part.bytes.size());
  absl::InlinedVector<Move, 4> moves;
  for (const Target& target : targets)
    ForEachPart(*target.plan, part.at * 8, end * 8, [&](const Plan& plan) {
      Plan of_part = plan;
      of_part.src_offset -= part.at * 8;
      moves.push_back(MoveOf(of_part, part.bytes.data(), target.dst));
      Canonicalize(moves.back().copy);
    });
  const std::byte* const past = part.bytes.data() + part.bytes.size();
  MoveAll({moves.data(), moves.size()}, reinterpret_cast<const uint8_t*>(past),
          total_bytes);
}

}  // namespace

bool CopyPieces(Pieces pieces, std::span<const Target> targets,
                int64_t total_bytes, BufferPool* pool) {
  const int64_t piece = SizeOf(pieces) / std::ssize(pieces);
  if (piece < std::max(kPieceBytes, kTargetBytes * std::ssize(targets)))
    return false;
  int64_t unit = 1;
  for (const Target& target : targets) {
    const Plan& plan = *target.plan;
    if (!plan.places.empty() || !IsWholeUnits(plan)) return false;
    const int64_t own = UnitOf(plan, piece);
    if (own == 0)
      return piece >= kBandedBytes && targets.size() == 1 &&
             CopyBands(pieces, target, total_bytes);
    unit = std::max(unit, own);
  }
  const Parts parts(pieces, unit, pool);
  ForEachTask(total_bytes, parts.parts().size(), [&](size_t i) {
    CopyPart(parts.parts()[i], targets, total_bytes);
  });
  return true;
}

}  // namespace axis
