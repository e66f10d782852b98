#include "server/stream/scatter.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "kernels/copy.h"
#include "server/stream/space.h"
#include "server/stream/window.h"

namespace axis {
namespace {

// Segments are of about so many bytes, like batches: few enough for memory that
// was just sent to be in a cache still when it is written again. Where one step
// is larger than the most, nothing is pooled: a segment goes back to the pool
// as a whole, space bit by bit as it is sent.
constexpr int64_t kSegmentBytes = kBatchBytes;
constexpr int64_t kMostSegmentBytes = 8 << 20;

// One is written while one is handed out. Of a third one gRPC still has a part
// (what is packed and not sent counts for itself).
constexpr size_t kOpenSegments = 2;
constexpr int64_t kHeldSegments = kOpenSegments + 1;

// Windows of space are held twice over, so that one is written while the other
// leaves; but they cost no more than this beyond the first.
constexpr int64_t kMaxSpareBytes = 64 << 20;
constexpr int64_t kMinSpareBytes = 2 * kBatchBytes;

// Less than this is not worth a call of the engine while anything can be sent.
constexpr int64_t kLeastBatch = 64 << 10;

// What holding the outputs in pooled segments takes; 0 if it cannot be done.
int64_t PooledBytes(const std::vector<Group>& groups) {
  int64_t all = 0, largest = kSegmentBytes;
  for (const Group& group : groups) {
    all += group.dst_end - group.dst_begin;
    largest = std::max(largest, group.dst_step);
  }
  if (largest > kMostSegmentBytes) return 0;
  return std::min(all, kHeldSegments * largest);
}

class Scatter final : public Route {
 public:
  Scatter(const Program& program, int64_t bytes, const CallContext& call)
      : outputs_(Stretches(program)),
        segments_(GroupsOf(outputs_)),
        unit_(UnitBytes(program.passes[0].writes[0].plan.item_bits)),
        bytes_(program.buffer_bytes[0]),
        window_(bytes),
        call_(call) {
    const int64_t pooled = PooledBytes(segments_.groups());
    if (pooled > 0 && bytes >= pooled) {
      OpenNext();
    } else {
      const int64_t all = outputs_.back().dst_end;
      open_.push_back({{bytes_, 0, all}, OutputSpace::Reserve(all)});
    }
    ready_ = ReadyAt(received_, current_);
  }

  absl::StatusOr<bool> Feed(Payload& in) override {
    int64_t size = std::min(in.size(), kBatchBytes) / unit_ * unit_;
    if (size == 0) return false;
    if (received_ == open_.back().segment.src_end && !OpenNext()) return false;
    size = std::min(size, open_.back().segment.src_end - received_);
    if (CostOf(in) < kBatchBytes && CanWait(size)) return false;
    while (Cut(size) > taken_ + window_) {
      const bool can_wait = taken_ < ready_;
      if (can_wait && size < 2 * kLeastBatch) return false;
      if (size == unit_) break;  // not reached: what the window is made for
      size = std::max(unit_, size / 2 / unit_ * unit_);
    }
    const Payload batch = CutFront(in, size);
    if (Copy(batch.Spans(), targets_, &call_.pool) > 0) call_.report.joined = 1;
    received_ += size;
    ready_ = ReadyAt(received_, current_);
    return true;
  }

  bool IsLight(int64_t bytes) const override {
    constexpr int64_t kLightBytes = 64 << 10;
    constexpr size_t kLightOutputs = 16;
    return bytes <= kLightBytes && outputs_.size() <= kLightOutputs;
  }

  Payload Take(int64_t size) override {
    const int64_t end = taken_ + std::min(size, ready_ - taken_);
    Payload taken;
    while (taken_ < end) {
      if (taken_ == open_.front().segment.dst_end) open_.pop_front();
      const Open& open = open_.front();
      const int64_t first = open.segment.dst_begin;
      const int64_t to = std::min(end, open.segment.dst_end);
      taken.Append(open.space->Share(taken_ - first, to - first));
      taken_ = to;
    }
    return taken;
  }

 private:
  // A segment that is not all handed out, and the memory it lies in.
  struct Open {
    Segment segment;
    std::shared_ptr<OutputSpace> space;
  };

  // Goes on to the next segment. Returns whether there is room for it.
  bool OpenNext() {
    if (!open_.empty() && taken_ == open_.front().segment.dst_end)
      open_.pop_front();
    if (open_.size() == kOpenSegments) return false;
    Segment segment = segments_.Next(kSegmentBytes);
    if (segment.dst_end == outputs_.back().dst_end) segment.src_end = bytes_;
    const int64_t size = segment.dst_end - segment.dst_begin;
    open_.push_back({segment, OutputSpace::Of(call_.pool, size)});
    return true;
  }

  // Cuts out of all plans what reads the next `size` bytes of the input.
  // Returns where the last of it will be written.
  int64_t Cut(int64_t size) {
    const int64_t begin = received_, end = received_ + size;
    const Open& open = open_.back();
    int64_t last = 0;
    parts_.clear();
    targets_.clear();
    for (const Stretch& o : outputs_) {
      if (o.plan == nullptr || end <= o.src_begin || o.src_end <= begin)
        continue;
      ForEachPart(*o.plan, begin * 8, end * 8, [&](const Plan& part) {
        int64_t bits = part.dst_offset + part.run;
        for (const Loop& loop : part.loops)
          bits += (loop.extent - 1) * loop.dst_stride;
        last = std::max(last, o.dst_begin + bits / 8);
        parts_.push_back(part);
        parts_.back().src_offset -= begin * 8;
        parts_.back().dst_offset += (o.dst_begin - open.segment.dst_begin) * 8;
        targets_.push_back({nullptr, open.space->data()});
      });
    }
    for (size_t i = 0; i < parts_.size(); ++i) targets_[i].plan = &parts_[i];
    return last;
  }

  // The first byte that is not written once `received` bytes have been moved;
  // it lies in `output` or in a later one, which is then `output`.
  int64_t ReadyAt(int64_t received, size_t& output) const {
    for (; output < outputs_.size(); ++output) {
      const Stretch& o = outputs_[output];
      if (o.plan == nullptr || o.src_end <= received) continue;
      int64_t ready = o.dst_end;
      ForEachPart(*o.plan, received * 8, o.src_end * 8, [&](const Plan& part) {
        ready = std::min(ready, o.dst_begin + part.dst_offset / 8);
      });
      return ready;
    }
    return outputs_.back().dst_end;
  }

  // Whether the next `size` bytes complete nothing: then they can wait for
  // more, as larger batches make longer runs.
  bool CanWait(int64_t size) const {
    size_t output = current_;
    return received_ + size < bytes_ &&
           ReadyAt(received_ + size, output) == ready_;
  }

  const std::vector<Stretch> outputs_;
  Segments segments_;
  const int64_t unit_;
  const int64_t bytes_;  // of the input
  const int64_t window_;
  const CallContext call_;

  std::deque<Open> open_;  // never empty; the last one is written
  int64_t received_ = 0;   // bytes of the input that have been moved
  int64_t ready_ = 0;      // all bytes of the outputs before this are written
  int64_t taken_ = 0;
  size_t current_ = 0;  // the output that ready_ lies in
  std::vector<Plan> parts_;
  std::vector<Target> targets_;
};

}  // namespace

RouteBytes BytesToScatter(const Program& program) {
  const std::vector<Stretch> outputs = Stretches(program);
  const std::vector<Group> groups = GroupsOf(outputs);
  const int64_t window = WindowOf(groups), all = outputs.back().dst_end;
  const int64_t least = std::min(all, window + kLeastBatch);
  if (const int64_t pooled = PooledBytes(groups))
    return {std::min(least, pooled), pooled};
  return {least, std::min(all, window + std::clamp(window, kMinSpareBytes,
                                                   kMaxSpareBytes))};
}

std::unique_ptr<Route> MakeScatter(const Program& program, int64_t bytes,
                                   const CallContext& call) {
  return std::make_unique<Scatter>(program, bytes, call);
}

}  // namespace axis
