#include "kernels/copy.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "kernels/copy/byte_copy.h"
#include "kernels/copy/gather/gather.h"
#include "kernels/copy/memory/memory.h"
#include "kernels/copy/narrow/narrow.h"
#include "kernels/copy/partition/partition.h"
#include "kernels/copy/pieces/pieces.h"
#include "kernels/copy/tasks.h"
#include "kernels/copy/tiny.h"

namespace axis {
namespace {

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
    absl::InlinedVector<size_t, 8> begins;
    size_t size = 0;
    for (std::span<const std::byte> piece : pieces) {
      begins.push_back(size);
      size += piece.size();
    }
    std::byte* const joined =
        joined_.emplace(static_cast<int64_t>(size), pool).data();
    bytes_ = {joined, size};
    ForEachTask(static_cast<int64_t>(size), pieces.size(), [&](size_t i) {
      std::copy(pieces[i].begin(), pieces[i].end(), joined + begins[i]);
    });
  }

  std::optional<Memory> joined_;
  std::span<const std::byte> bytes_;
};

// What `targets` get, in bytes.
int64_t BytesOf(std::span<const Target> targets) {
  int64_t bits = 0;
  for (const Target& target : targets) bits += BitsOf(*target.plan);
  return bits / 8;
}

}  // namespace

int64_t Copy(Pieces src, std::span<const Target> targets, BufferPool* pool) {
  const int64_t most_items = targets.size() == 1 ? kTinyItemsAlone : kTinyItems;
  if (src.size() == 1 && targets.size() == 1 &&
      CopyTiny(*targets[0].plan, src[0].data(), targets[0].dst, most_items))
    return 0;
  const int64_t total_bytes = BytesOf(targets);
  if (src.size() > 1 && CopyPieces(src, targets, total_bytes, pool)) return 0;
  const Whole whole(src, pool);
  const std::byte* const from = whole.bytes().data();
  const uint8_t* const end = Bytes(from + whole.bytes().size());
  absl::InlinedVector<Move, 4> moves;
  for (const Target& target : targets) {
    const Plan& plan = *target.plan;
    // What takes less time than a plan for blocks.
    if (plan.run == 0 || CopyTiny(plan, from, target.dst, most_items) ||
        (total_bytes < kSerialBytes &&
         (CopyFewRuns(plan, from, target.dst) ||
          CopyMatrix(plan, from, end, target.dst))))
      continue;
    if (!plan.places.empty()) {
      const Move move = MoveOf(plan, from, target.dst);
      MoveGather(move.copy, plan.places, move.src, end, move.dst);
    } else if (!IsWholeUnits(plan)) {
      MoveNarrow(plan, Bytes(from), Bytes(target.dst));
    } else if (targets.size() == 1) {
      Move move = MoveOf(plan, from, target.dst);
      MoveAll({&move, 1}, end, total_bytes);
    } else {
      moves.push_back(MoveOf(plan, from, target.dst));
    }
  }
  if (!moves.empty()) MoveAll(moves, end, total_bytes);
  return whole.joined_bytes();
}

}  // namespace axis
