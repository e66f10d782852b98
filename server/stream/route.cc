#include "server/stream/route.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "server/stream/scatter.h"
#include "server/stream/window.h"

namespace axis {
namespace {

class Forward final : public Route {
 public:
  absl::StatusOr<bool> Feed(Payload& in) override {
    if (in.size() == 0 || CostOf(waiting_) >= kBatchBytes) return false;
    const Payload batch = CutFront(in, kBatchBytes);
    for (const grpc::Slice& slice : batch.slices()) waiting_.Append(slice);
    return true;
  }
  bool IsLight(int64_t) const override { return true; }
  Payload Take(int64_t size) override { return CutFront(waiting_, size); }

 private:
  Payload waiting_;
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

  bool IsLight(int64_t) const override { return false; }

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

}  // namespace

Payload CutFront(Payload& payload, int64_t size) {
  if (size >= payload.size()) return std::exchange(payload, {});
  Payload front = payload.Sub(0, size);
  payload = payload.Sub(size, payload.size() - size);
  return front;
}

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
  return BytesToScatter(program);
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
      return MakeScatter(program, bytes, call);
    case RouteKind::kCollect:
      break;
  }
  return std::make_unique<Collect>(program, call);
}

}  // namespace axis
