#include "kernels/copy/partition/exchange.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "kernels/copy/block.h"
#include "kernels/copy/memory/scratch.h"
#include "kernels/copy/plan/block_plan.h"
#include "kernels/copy/plan/side.h"
#include "kernels/copy/plan/spacing.h"
#include "kernels/copy/tasks.h"

namespace axis {
namespace {

// Fewer pixels are done before both steps have begun.
constexpr int64_t kLeastPixels = 128;

// Both steps for some pixels.
struct Steps {
  BlockPlan apart, together;
};

BlockPlan PlanStep(ByteCopy copy, int64_t total_bytes) {
  Canonicalize(copy);
  return PlanBlocks(copy, {}, total_bytes, MachineFor(total_bytes));
}

// In scratch lie the channels one after the other, each image by image.
Steps PlanSteps(const Exchange& x, int64_t item, int64_t pixels,
                int64_t total_bytes) {
  const int64_t image = pixels * item, channel = x.images.extent * image;
  return {PlanStep({item,
                    {{x.channels.extent, item, channel},
                     {x.images.extent, x.images.src_stride, image},
                     {pixels, x.pixels.src_stride, item}}},
                   x.channels.extent * channel),
          PlanStep({item,
                    {{x.channels.extent, channel, x.channels.dst_stride},
                     {pixels, item, x.pixels.dst_stride},
                     {x.images.extent, image, item}}},
                   total_bytes)};
}

}  // namespace

std::optional<Exchange> FindExchange(const ByteCopy& copy) {
  const int64_t item = copy.item;
  if (!IsTransposable(item) || copy.loops.size() < 3) return std::nullopt;
  const auto images = Find(copy.loops, &Loop::dst_stride, item);
  const auto channels = Find(copy.loops, &Loop::src_stride, item);
  if (!images || !channels) return std::nullopt;
  const int64_t p = copy.loops[*images].extent;
  const int64_t q = copy.loops[*channels].extent;
  if (p * item >= kPiece || q * item >= kPiece) return std::nullopt;
  const auto pixels = Find(copy.loops, &Loop::src_stride, q * item);
  if (!pixels || copy.loops[*pixels].dst_stride != p * item ||
      copy.loops[*pixels].extent < kLeastPixels)
    return std::nullopt;
  Exchange exchange{copy.loops[*images],
                    copy.loops[*channels],
                    copy.loops[*pixels],
                    {item, {}}};
  for (size_t i = 0; i < copy.loops.size(); ++i)
    if (i != *images && i != *channels && i != *pixels)
      exchange.rest.loops.push_back(copy.loops[i]);
  return exchange;
}

// Where vectors do not interleave, it gains less.
bool GainsFromScratch(const Exchange& exchange, int64_t total_bytes,
                      const Machine& machine) {
  return exchange.images.extent <= kMostInterleaved ||
         (total_bytes < machine.l2 &&
          (exchange.rest.item > 1 ||
           exchange.channels.extent <= kMostInterleaved));
}

void MoveExchange(const Move& move, const Exchange& exchange,
                  const uint8_t* src_end, int64_t total_bytes) {
  const int64_t item = move.copy.item, bytes = BytesOf(move.copy);
  const Loop& pixels = exchange.pixels;
  const int64_t pixel =
      exchange.images.extent * exchange.channels.extent * item;
  // Whole lines of every channel.
  const int64_t part =
      std::min(pixels.extent, kExchangeBytes / pixel / kLineBytes * kLineBytes);
  const int64_t parts = (pixels.extent + part - 1) / part;
  const Steps steps = PlanSteps(exchange, item, part, total_bytes);
  const Steps last = PlanSteps(exchange, item,
                               pixels.extent - (parts - 1) * part, total_bytes);
  const int64_t count = bytes / (pixel * pixels.extent) * parts;
  const int64_t tasks = std::min(WorkersFor(bytes) * kTasksPerWorker, count);
  ForEachTask(bytes, tasks, [&](int64_t task) {
    uint8_t* const scratch = ExchangeScratch();
    const int64_t end = count * (task + 1) / tasks;
    for (int64_t i = count * task / tasks; i < end; ++i) {
      const int64_t first = i % parts * part;
      const Offsets at = OffsetsAt(exchange.rest.loops, i / parts);
      const Steps& these = first + part < pixels.extent ? steps : last;
      MoveBlocks(these.apart, move.src + first * pixels.src_stride + at.src,
                 src_end, scratch);
      MoveBlocks(these.together, scratch, scratch + kExchangeBytes,
                 move.dst + first * pixels.dst_stride + at.dst);
    }
  });
}

}  // namespace axis
