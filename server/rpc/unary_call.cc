#include "server/rpc/unary_call.h"

#include <atomic>
#include <new>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/status.h"
#include "server/call/rpc_status.h"
#include "server/process/out_of_memory.h"
#include "server/queue/event.h"
#include "server/rpc/record.h"
#include "server/wire/inflate.h"

namespace axis {
namespace {

// One call, from before it arrives until it is gone; owns itself.
class UnaryCall {
 public:
  UnaryCall(const UnaryMethod& method, const Workshop& workshop)
      : place_(workshop.live_calls), method_(method), workshop_(workshop) {
    context_.AsyncNotifyWhenDone(done_.Tag());
    method_.request(&context_, &request_, &writer_, begin_.Tag());
  }

 private:
  // A call has arrived; or none will any more.
  void Begin(bool ok) {
    if (!ok) {
      delete this;
      return;
    }
    const UnaryMethod& method = method_;
    const Workshop& workshop = workshop_;
    started_ = absl::Now();
    deadline_ = absl::FromChrono(context_.deadline());
    workshop_.metrics.CallBegins();
    report_.received_bytes = static_cast<int64_t>(request_.Length());
    // What a compressed message holds is not known before it is inflated.
    const bool is_light = !IsCompressed(request_) && method_.is_light(request_);
    report_.trace = TakeTrace(context_);
    report_.wants_shapes = workshop_.access_log || !is_light;
    report_.status = workshop_.guard.Enter(
        context_, method_.group, is_light ? Weight::kLight : Weight::kHeavy,
        lease_, report_);
    // What is refused is refused at once.
    if (report_.status.ok()) report_.status = Admit();
    if (!report_.status.ok()) {
      Answer();
    } else if (is_light) {
      Work();
    } else {
      // Who asks for much at once waits for those who do not.
      workshop_.turns.Add([this] { Work(); }, lease_.IsOneOfSeveral());
    }
    AwaitCall(method, workshop);  // now that this one does not wait for it
  }

  absl::Status Admit() {
    AXIS_RETURN_IF_ERROR(CheckRequestBytes(report_.received_bytes, call_));
    return lease_.Take(report_.received_bytes);
  }

  void Work() {
    try {
      const MayRunOut scope;
      report_.status = TryWork();
    } catch (const std::bad_alloc&) {
      report_.status = OutOfMemory();
    }
    Answer();
  }

  void Answer() {
    request_.Clear();
    if (!report_.status.ok()) response_.Clear();
    if (lease_.refused() != nullptr) report_.rejected = lease_.refused();
    report_.sent_bytes = static_cast<int64_t>(response_.Length());
    report_.duration = absl::Now() - started_;
    RecordCall(workshop_, method_.method, method_.name, context_, report_);
    if (report_.status.ok()) {
      writer_.Finish(response_, grpc::Status::OK, sent_.Tag());
    } else {
      writer_.FinishWithError(ToGrpc(report_.status), sent_.Tag());
    }
  }

  absl::Status TryWork() {
    if (IsOver()) return absl::CancelledError("the client gave up");
    AXIS_RETURN_IF_ERROR(Inflate(request_, call_));
    return method_.serve(request_, response_, call_);
  }

  // Between two parts of the work: whether the rest is wanted.
  bool IsOverBetween() {
    if (lease_.IsOneOfSeveral()) {
      const absl::Time begin = absl::Now();
      workshop_.turns.GiveWay();
      // It waited, as it did in the queue: that is of no phase.
      if (report_.phase >= 0)
        report_.phases[static_cast<size_t>(report_.phase)] -=
            absl::Now() - begin;
    }
    return IsOver();
  }

  bool IsOver() const {
    return context_.IsCancelled() || deadline_ < absl::Now();
  }

  // The call is gone once its status is sent and gRPC has said that it is
  // done; either may come first.
  void Sent(bool) { Leave(); }
  void Done(bool) { Leave(); }
  void Leave() {
    if (--pending_ > 0) return;
    workshop_.metrics.CallEnds();
    delete this;
  }

  const LiveCalls::Place place_;
  const UnaryMethod& method_;
  const Workshop& workshop_;

  grpc::ServerContext context_;
  grpc::ByteBuffer request_, response_;
  RawWriter writer_{&context_};
  Admission::Lease lease_{workshop_.admission};
  CallReport report_;
  absl::Time started_, deadline_;
  const CallContext call_{workshop_.max_message_bytes,
                          lease_,
                          workshop_.pool,
                          report_,
                          [this] { return IsOverBetween(); },
                          &workshop_.recipes};

  StepOf<UnaryCall, &UnaryCall::Begin> begin_{this};
  StepOf<UnaryCall, &UnaryCall::Sent> sent_{this};
  StepOf<UnaryCall, &UnaryCall::Done> done_{this};
  std::atomic<int> pending_{2};
};

}  // namespace

void AwaitCall(const UnaryMethod& method, const Workshop& workshop) {
  new UnaryCall(method, workshop);
}

}  // namespace axis
