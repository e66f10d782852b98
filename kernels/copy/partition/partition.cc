#include "kernels/copy/partition/partition.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "kernels/copy/block.h"
#include "kernels/copy/digits/digits.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/partition/columns.h"
#include "kernels/copy/partition/exchange.h"
#include "kernels/copy/partition/part.h"
#include "kernels/copy/plan/block_plan.h"
#include "kernels/copy/plan/even.h"
#include "kernels/copy/tasks.h"

namespace axis {
namespace {

// A task moves at least this many bytes, so that starting it does not show.
constexpr int64_t kTaskBytes = 128 << 10;

int64_t BytesOf(const Move& move) {
  return BytesOf(move.copy) *
         std::max<int64_t>(1, static_cast<int64_t>(move.columns.size()));
}

int64_t BytesOf(std::span<const Move> moves) {
  int64_t bytes = 0;
  for (const Move& move : moves) bytes += BytesOf(move);
  return bytes;
}

BlockPlan PlanOf(ByteCopy copy, std::span<const int64_t> columns,
                 int64_t total_bytes) {
  Canonicalize(copy);
  return PlanBlocks(copy, columns, total_bytes, MachineFor(total_bytes));
}

// How the loops of a copy are dealt out: one task for each index of `whole`
// and each part of loop `cut`, of which a part has `grain` indices.
struct Deal {
  absl::InlinedVector<Loop, 8> whole;
  size_t cut;
  int64_t grain;
};

// Deals `loops` out in about `tasks` tasks; removes those it deals out whole.
// Takes loops first whose steps are long on both sides: those with short ones
// are what a block is made of, and fastest together.
Deal DealOut(absl::InlinedVector<Loop, 8>& loops, int64_t tasks) {
  auto step = [](const Loop& loop) {
    return std::min(loop.src_stride, loop.dst_stride);
  };
  Deal deal{};
  for (;;) {
    const auto next = std::max_element(
        loops.begin(), loops.end(), [&](const Loop& x, const Loop& y) {
          return std::pair(step(x), x.extent) < std::pair(step(y), y.extent);
        });
    const Loop loop = *next;
    if (loop.extent >= tasks || loops.size() == 1) {
      deal.cut = static_cast<size_t>(next - loops.begin());
      deal.grain = std::max<int64_t>(1, (loop.extent + tasks - 1) / tasks);
      // Two workers should not share a line they write.
      const int64_t line = kLineBytes / std::gcd(kLineBytes, loop.dst_stride);
      if (line <= deal.grain)
        deal.grain = (deal.grain + line - 1) / line * line;
      return deal;
    }
    tasks = (tasks + loop.extent - 1) / loop.extent;
    deal.whole.push_back(loop);
    loops.erase(next);
  }
}

void MoveEven(const Move& move, int64_t total_bytes, const uint8_t* src_end) {
  const int64_t bytes = BytesOf(move);
  const int64_t workers = WorkersFor(bytes);
  if (workers == 1) {
    if (move.columns.empty())
      return RecentPart(move.copy, total_bytes)
          .Move(move.src, src_end, move.dst);
    return Part(move.copy, move.columns, total_bytes)
        .Move(move.src, src_end, move.dst);
  }
  const int64_t tasks = std::min(workers * kTasksPerWorker, bytes / kTaskBytes);
  ByteCopy rest = move.copy;
  if (rest.loops.empty()) {
    // One long run, as loops over its lines and what is left of them.
    const int64_t lines = rest.item / kLineBytes;
    const int64_t tail = rest.item % kLineBytes;
    std::copy_n(move.src + lines * kLineBytes, tail,
                move.dst + lines * kLineBytes);
    rest = {kLineBytes, {{lines, kLineBytes, kLineBytes}}};
  }
  const Deal deal = DealOut(rest.loops, tasks);
  const Loop cut = rest.loops[deal.cut];
  const int64_t parts = (cut.extent + deal.grain - 1) / deal.grain;
  auto plan_part = [&](int64_t extent) {
    ByteCopy part = rest;
    part.loops[deal.cut].extent = extent;
    Canonicalize(part);
    return Part(part, move.columns, total_bytes);
  };
  const Part whole = plan_part(deal.grain);
  const Part last = plan_part(cut.extent - (parts - 1) * deal.grain);
  int64_t count = parts;
  for (const Loop& loop : deal.whole) count *= loop.extent;
  ForEachTask(bytes, count, [&](int64_t i) {
    const int64_t part = i % parts;
    const int64_t first = part * deal.grain;
    const Offsets at = OffsetsAt(deal.whole, i / parts);
    (part == parts - 1 ? last : whole)
        .Move(move.src + first * cut.src_stride + at.src, src_end,
              move.dst + first * cut.dst_stride + at.dst);
  });
}

void MoveOne(const Move& move, int64_t total_bytes, const uint8_t* src_end) {
  if (move.columns.empty()) {
    const Machine machine = ThisMachine();
    const auto exchange = FindExchange(move.copy);
    Digits digits;
    if (exchange && GainsFromScratch(*exchange, total_bytes, machine) &&
        (machine.LooksUp() || !FindDigits(move.copy, digits)))
      return MoveExchange(move, *exchange, src_end, total_bytes);
  }
  const auto even =
      move.columns.empty() ? FindEvenPart(move.copy) : std::nullopt;
  if (!even) return MoveEven(move, total_bytes, src_end);
  Move most = move, rest = move;
  most.copy.loops[even->loop].extent = even->extent;
  Loop& loop = rest.copy.loops[even->loop];
  rest.src += even->extent * loop.src_stride;
  rest.dst += even->extent * loop.dst_stride;
  loop.extent -= even->extent;
  Canonicalize(rest.copy);
  MoveEven(most, total_bytes, src_end);
  MoveEven(rest, total_bytes, src_end);
}

// The loop of `move` with the same extent and source stride as `like`.
std::optional<size_t> FindLike(const Move& move, const Loop& like) {
  const auto& loops = move.copy.loops;
  for (size_t i = 0; i < loops.size(); ++i)
    if (loops[i].extent == like.extent &&
        loops[i].src_stride == like.src_stride)
      return i;
  return std::nullopt;
}

// The widest loop over the source that all of `moves` have in common, and that
// goes beyond a line of their destinations: one that makes lines up is best
// left whole.
std::optional<Loop> FindShared(std::span<const Move> moves) {
  std::optional<Loop> shared;
  for (const Loop& loop : moves[0].copy.loops)
    if ((!shared || loop.src_stride > shared->src_stride) &&
        std::all_of(moves.begin(), moves.end(), [&](const Move& move) {
          const std::optional<size_t> like = FindLike(move, loop);
          return like &&
                 loop.extent * move.copy.loops[*like].dst_stride >= kLineBytes;
        }))
      shared = loop;
  return shared;
}

// What stays in cache from the first move to the last, for all the lines they
// share; but so much that to begin the moves of a band does not show.
int64_t BandBytes() {
  return std::max<int64_t>(ThisMachine().l2 / 8, 128 << 10);
}

// The plan of a band. Short runs are not streamed: by way of scratch they would
// wait for the source, since nobody asks for that of the next band meanwhile.
// Nor is anything asked for ahead by items that take less time than asking: the
// machine foresees a band (both measured without lookups only).
BlockPlan PlanOfBand(ByteCopy copy, std::span<const int64_t> columns,
                     int64_t total_bytes) {
  BlockPlan plan = PlanOf(std::move(copy), columns, total_bytes);
  if (plan.kernel == Kernel::kRows && !ThisMachine().LooksUp()) {
    if (plan.stage || plan.item <= kLineBytes / 2) plan.lead = 0;
    if (plan.stage) plan.stage = plan.stream = false;
  }
  return plan;
}

// Walks the source once, in bands of the loop `shared`, for all of `moves`.
void MoveBands(std::span<const Move> moves, const Loop& shared,
               int64_t total_bytes, const uint8_t* src_end) {
  struct Banded {
    BlockPlan plan, last;
    int64_t dst_stride;
  };
  const int64_t bytes = BytesOf(moves);
  const int64_t grain = std::clamp<int64_t>(
      BandBytes() / std::max<int64_t>(1, bytes / shared.extent), 1,
      shared.extent);
  const int64_t bands = (shared.extent + grain - 1) / grain;
  absl::InlinedVector<Banded, 4> banded;
  for (const Move& move : moves) {
    const size_t l = *FindLike(move, shared);
    ByteCopy copy = move.copy, last = move.copy;
    copy.loops[l].extent = grain;
    last.loops[l].extent = shared.extent - (bands - 1) * grain;
    banded.push_back({PlanOfBand(std::move(copy), move.columns, total_bytes),
                      PlanOfBand(std::move(last), move.columns, total_bytes),
                      move.copy.loops[l].dst_stride});
  }
  auto move_band = [&](int64_t band) {
    for (size_t m = 0; m < moves.size(); ++m)
      MoveBlocks(band == bands - 1 ? banded[m].last : banded[m].plan,
                 moves[m].src + band * grain * shared.src_stride, src_end,
                 moves[m].dst + band * grain * banded[m].dst_stride);
  };
  const int64_t tasks = std::min(WorkersFor(bytes) * kTasksPerWorker, bands);
  ForEachTask(bytes, tasks, [&](int64_t task) {
    const int64_t end = bands * (task + 1) / tasks;
    for (int64_t band = bands * task / tasks; band < end; ++band)
      move_band(band);
  });
}

// Carries out moves that read side by side.
void MoveTogether(std::span<const Move> moves, int64_t total_bytes,
                  const uint8_t* src_end) {
  if (moves.size() == 1) return MoveOne(moves[0], total_bytes, src_end);
  Columns columns;
  auto joined = JoinColumns(moves, columns);
  // The longest items first: with them nearly all lines of a band come in, in
  // an order that the machine foresees, and the others find theirs.
  std::ranges::sort(joined, [](const Move& x, const Move& y) {
    return std::pair(-x.copy.item, x.src) < std::pair(-y.copy.item, y.src);
  });
  // What the second cache holds is as well read once for each.
  if (joined.size() > 1 && BytesOf(joined) > ThisMachine().l2)
    if (const std::optional<Loop> shared = FindShared(joined))
      return MoveBands(joined, *shared, total_bytes, src_end);
  for (const Move& move : joined) MoveOne(move, total_bytes, src_end);
}

}  // namespace

Move MoveOf(const Plan& plan, const std::byte* src, std::byte* dst) {
  return {.copy = ByteCopyOf(plan),
          .src = reinterpret_cast<const uint8_t*>(src + plan.src_offset / 8),
          .dst = reinterpret_cast<uint8_t*>(dst + plan.dst_offset / 8),
          .columns = {}};
}

void MoveAll(std::span<Move> moves, const uint8_t* src_end,
             int64_t total_bytes) {
  if (moves.size() > 1) std::ranges::sort(moves, {}, &Move::src);
  while (!moves.empty()) {
    // Those that begin before the first goes on to its next index: there is
    // nothing between them but each other.
    int64_t reach = 0;
    for (const Loop& loop : moves[0].copy.loops)
      reach = std::max(reach, loop.src_stride);
    const auto end = std::find_if(
        moves.begin() + 1, moves.end(),
        [&](const Move& move) { return move.src - moves[0].src >= reach; });
    const auto together = static_cast<size_t>(end - moves.begin());
    MoveTogether(moves.first(together), total_bytes, src_end);
    moves = moves.subspan(together);
  }
}

}  // namespace axis
