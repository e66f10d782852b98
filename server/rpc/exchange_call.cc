#include "server/rpc/exchange_call.h"

#include <atomic>

#include "absl/time/clock.h"
#include "kernels/handover.h"
#include "server/call/rpc_status.h"
#include "server/queue/event.h"
#include "server/rpc/record.h"
#include "server/wire/inflate.h"

namespace axis {
namespace {

// One stream, from before it arrives until it is gone; owns itself. One thing
// is under way at a time: a read, the work, or a write.
class ExchangeCall {
 public:
  ExchangeCall(const ExchangeMethod& method, const Workshop& workshop)
      : place_(workshop.live_calls), method_(method), workshop_(workshop) {
    context_.AsyncNotifyWhenDone(done_.Tag());
    method_.stream.request(&context_, &rpc_, begin_.Tag());
  }

 private:
  void Begin(bool ok) {
    if (!ok) return delete this;
    AwaitExchange(method_, workshop_);
    started_ = absl::Now();
    workshop_.metrics.CallBegins();
    total_.status = EnterStream(workshop_, context_, method_.stream.group,
                                Weight::kStanding, lease_, total_);
    if (!total_.status.ok()) return Close();
    rpc_.Read(&message_, read_.Tag());
  }

  // A message has come, or the client has sent its last one.
  void Read(bool ok) {
    if (!ok) return Close();
    total_.received_bytes += static_cast<int64_t>(message_.Length());
    if (!IsCompressed(message_) && method_.is_light(message_)) {
      Work(/*is_light=*/true);
    } else {
      HandOver(this);
      workshop_.arena.enqueue([this] {
        TakeOver(this);
        Work(/*is_light=*/false);
      });
    }
  }

  void Work(bool is_light) {
    {
      Admission::Lease lease(workshop_.admission);
      CallReport report;
      report.status = lease.Enter(lease_.client(), !is_light);
      message_ = method_.answer(
          message_, {workshop_.max_message_bytes, lease, workshop_.pool, report,
                     [this] { return IsOver(); }, &workshop_.recipes});
      for (size_t i = 0; i < report.phases.size(); ++i)
        total_.phases[i] += report.phases[i];
      total_.shared += report.shared;
      total_.joined += report.joined;
      total_.strided += report.strided;
    }
    total_.sent_bytes += static_cast<int64_t>(message_.Length());
    rpc_.Write(message_, wrote_.Tag());
  }

  void Wrote(bool ok) {
    message_.Clear();
    if (!ok) return Close();
    rpc_.Read(&message_, read_.Tag());
  }

  void Close() {
    if (IsOver()) total_.status = absl::CancelledError("the client gave up");
    total_.duration = absl::Now() - started_;
    RecordCall(workshop_, method_.stream.method, method_.stream.name, context_,
               total_);
    rpc_.Finish(ToGrpc(total_.status), finished_.Tag());
  }

  // Only once gRPC has said that the call is done may IsCancelled be asked.
  bool IsOver() const { return is_cancelled_ || IsLate(context_); }

  // The call is gone once its status is sent and gRPC has said that it is
  // done; either may come first.
  void Done(bool) {
    is_cancelled_ = context_.IsCancelled();
    Leave();
  }
  void Finished(bool) { Leave(); }
  void Leave() {
    if (--pending_ > 0) return;
    Metrics& metrics = workshop_.metrics;
    delete this;
    metrics.CallEnds();
  }

  const LiveCalls::Place place_;
  const ExchangeMethod& method_;
  const Workshop& workshop_;

  grpc::ServerContext context_;
  RawStream rpc_{&context_};
  grpc::ByteBuffer message_;                     // read, or to be written
  Admission::Lease lease_{workshop_.admission};  // says whose stream it is
  CallReport total_;                             // of all messages
  absl::Time started_;

  StepOf<ExchangeCall, &ExchangeCall::Begin> begin_{this};
  StepOf<ExchangeCall, &ExchangeCall::Read> read_{this};
  StepOf<ExchangeCall, &ExchangeCall::Wrote> wrote_{this};
  StepOf<ExchangeCall, &ExchangeCall::Done> done_{this};
  StepOf<ExchangeCall, &ExchangeCall::Finished> finished_{this};
  std::atomic<bool> is_cancelled_{false};
  std::atomic<int> pending_{2};
};

}  // namespace

void AwaitExchange(const ExchangeMethod& method, const Workshop& workshop) {
  new ExchangeCall(method, workshop);
}

}  // namespace axis
