#include "server/stream/route.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/copy.h"
#include "server/stream/space.h"
#include "server/stream/window.h"

namespace axis {
namespace {

// Windows are held twice over, so that one is written while the other leaves;
// but they cost no more than this beyond the first.
constexpr int64_t kMaxSpareBytes = 64 << 20;
constexpr int64_t kMinSpareBytes = 2 * kBatchBytes;

// Less than this is not worth a call of the engine while anything can be sent.
constexpr int64_t kLeastBatch = 64 << 10;

// Takes the first `size` bytes off `payload`.
Payload CutFront(Payload& payload, int64_t size) {
  if (size >= payload.size()) return std::exchange(payload, {});
  Payload front = payload.Sub(0, size);
  payload = payload.Sub(size, payload.size() - size);
  return front;
}

class Forward final : public Route {
 public:
  absl::StatusOr<bool> Feed(Payload& in) override {
    if (in.size() == 0 || CostOf(waiting_) >= kBatchBytes) return false;
    const Payload batch = CutFront(in, kBatchBytes);
    for (const grpc::Slice& slice : batch.slices()) waiting_.Append(slice);
    return true;
  }
  Payload Take(int64_t size) override { return CutFront(waiting_, size); }

 private:
  Payload waiting_;
};

class Scatter final : public Route {
 public:
  Scatter(const Program& program, int64_t bytes, const CallContext& call)
      : outputs_(Stretches(program)),
        unit_(UnitBytes(program.passes[0].writes[0].plan.item_bits)),
        bytes_(program.buffer_bytes[0]),
        window_(bytes),
        call_(call),
        space_(OutputSpace::Reserve(outputs_.back().dst_end)) {
    ready_ = ReadyAt(received_, current_);
  }

  absl::StatusOr<bool> Feed(Payload& in) override {
    int64_t size = std::min(in.size(), kBatchBytes) / unit_ * unit_;
    if (size == 0 || (CostOf(in) < kBatchBytes && CanWait(size))) return false;
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

  Payload Take(int64_t size) override {
    size = std::min(size, ready_ - taken_);
    if (size == 0) return {};
    taken_ += size;
    return Payload(space_->Share(taken_ - size, taken_));
  }

 private:
  // Cuts out of all plans what reads the next `size` bytes of the input.
  // Returns where the last of it will be written.
  int64_t Cut(int64_t size) {
    const int64_t begin = received_, end = received_ + size;
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
        targets_.push_back({nullptr, space_->data() + o.dst_begin});
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
  const int64_t unit_;
  const int64_t bytes_;  // of the input
  const int64_t window_;
  const CallContext call_;
  const std::shared_ptr<OutputSpace> space_;

  int64_t received_ = 0;  // bytes of the input that have been moved
  int64_t ready_ = 0;     // all bytes of the outputs before this are written
  int64_t taken_ = 0;
  size_t current_ = 0;  // the output that ready_ lies in
  std::vector<Plan> parts_;
  std::vector<Target> targets_;
};

class Collect final : public Route {
 public:
  Collect(const Program& program, const CallContext& call)
      : program_(program),
        call_(call),
        input_(NewBuffer(call.pool, program.buffer_bytes[0])) {}

  absl::StatusOr<bool> Feed(Payload& in) override {
    if (executed_) return false;
    for (const auto span : in.Spans()) {
      std::memcpy(input_.data + received_, span.data(), span.size());
      received_ += static_cast<int64_t>(span.size());
    }
    const bool moved = in.size() > 0;
    in = Payload();
    if (received_ < program_.buffer_bytes[0]) return moved;
    call_.report.joined = 1;
    executed_ = true;
    std::vector<Payload> buffers = {std::move(input_.payload)};
    AXIS_RETURN_IF_ERROR(Execute(program_, buffers, call_));
    for (const Program::Output& output : program_.outputs)
      outputs_.push_back(buffers[static_cast<size_t>(output.buffer)]);
    return true;
  }

  Payload Take(int64_t size) override {
    while (current_ < outputs_.size() && outputs_[current_].size() == 0)
      ++current_;
    if (current_ == outputs_.size()) return {};
    return CutFront(outputs_[current_], size);
  }

 private:
  const Program& program_;
  const CallContext call_;
  Buffer input_;
  int64_t received_ = 0;
  bool executed_ = false;
  std::vector<Payload> outputs_;
  size_t current_ = 0;
};

int64_t OutputBytes(const Program& program) {
  int64_t bytes = 0;
  for (const Program::Output& output : program.outputs)
    bytes += program.buffer_bytes[static_cast<size_t>(output.buffer)];
  return bytes;
}

}  // namespace

RouteKind RouteOf(const Program& program) {
  if (program.passes.size() > 1) return RouteKind::kCollect;
  // Outputs with padding may take two writes each, and have gaps; what takes
  // every channel to its place reads the whole input.
  for (const Program::Pass& pass : program.passes)
    for (const Program::Write& write : pass.writes)
      if (write.zeros.count > 0 || !write.plan.places.empty())
        return RouteKind::kCollect;
  const std::vector<Stretch> outputs = Stretches(program);
  if (IsIdentity(outputs)) return RouteKind::kForward;
  const bool whole =
      std::all_of(outputs.begin(), outputs.end(), [](const Stretch& o) {
        return o.plan == nullptr || IsWholeUnits(*o.plan);
      });
  return whole ? RouteKind::kScatter : RouteKind::kCollect;
}

RouteBytes BytesOf(RouteKind kind, const Program& program) {
  if (kind == RouteKind::kForward) return {0, 0};
  if (kind == RouteKind::kCollect) {
    const int64_t bytes = program.buffer_bytes[0] + program.peak_bytes;
    return {bytes, bytes};
  }
  const int64_t window = WindowOf(Stretches(program));
  const int64_t all = OutputBytes(program);
  return {std::min(all, window + kLeastBatch),
          std::min(all, window + std::clamp(window, kMinSpareBytes,
                                            kMaxSpareBytes))};
}

std::unique_ptr<Route> MakeRoute(RouteKind kind, const Program& program,
                                 int64_t bytes, const CallContext& call) {
  const int outputs = static_cast<int>(program.outputs.size());
  switch (kind) {
    case RouteKind::kForward:
      call.report.shared += outputs;
      return std::make_unique<Forward>();
    case RouteKind::kScatter:
      call.report.strided += outputs;
      return std::make_unique<Scatter>(program, bytes, call);
    case RouteKind::kCollect:
      break;
  }
  return std::make_unique<Collect>(program, call);
}

}  // namespace axis
