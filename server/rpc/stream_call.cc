#include "server/rpc/stream_call.h"

#include <deque>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "server/call/rpc_status.h"
#include "server/process/out_of_memory.h"
#include "server/queue/event.h"
#include "server/rpc/inflow.h"
#include "server/rpc/record.h"
#include "server/stream/stream.h"

namespace axis {
namespace {

// One stream, from before it arrives until it is gone; owns itself.
//
// Events come on threads that poll. They note what happened, keep a read and a
// write under way, and see to it that somebody works: one thread at a time, the
// polling one while there is little to do, else one of the arena.
class StreamCall {
 public:
  StreamCall(const StreamMethod& method, const Workshop& workshop)
      : place_(workshop.live_calls), method_(method), workshop_(workshop) {
    context_.AsyncNotifyWhenDone(done_.Tag());
    method_.request(&context_, &rpc_, begin_.Tag());
  }

 private:
  using Message = grpc::ByteBuffer;

  // What is to be asked of gRPC, without the lock: it may do much at once.
  struct Next {
    bool read = false;
    std::optional<Message> write;
  };

  // What has come together since the last step.
  struct Inbox {
    std::vector<Message> messages;
    bool half_closed = false, is_over = false, writing = false;
    int64_t outbox_bytes = 0;  // waiting to be written
    bool IsSent() const { return !writing && outbox_bytes == 0; }
  };

  void Begin(bool ok) {
    if (!ok) return delete this;
    AwaitStream(method_, workshop_);
    started_ = absl::Now();
    workshop_.metrics.CallBegins();
    report_.status = EnterStream(workshop_, context_, method_.group,
                                 Weight::kHeavy, *lease_, report_);
    stream_.emplace(call_, workshop_.admission);
    Note([&] { is_working_ = false; });
  }

  void Read(bool ok) {
    Note([&] {
      reading_ = false;
      if (!ok) {
        half_closed_ = true;
      } else if (!closing_) {
        inbox_bytes_ += Inflow::CostOf(message_);
        inbox_.push_back(std::exchange(message_, {}));
      }
    });
  }
  void Wrote(bool ok) {
    Note([&] {
      writing_ = false;
      is_over_ |= !ok;
    });
  }
  void Done(bool) {
    Note([&] {
      is_done_ = true;
      if (context_.IsCancelled()) is_over_ = true;
    });
  }
  void Finished(bool) {
    Note([&] { is_finished_ = true; });
  }

  // Notes an event. If somebody else works and no operation is under way, the
  // call may be gone afterwards.
  template <class F>
  void Note(F event) {
    Next next;
    bool works;
    {
      const std::lock_guard lock(mutex_);
      event();
      next = GetNext();
      is_woken_ = true;
      works = !std::exchange(is_working_, true);
    }
    Start(next);
    if (works) Work(/*polls=*/true);
  }

  // REQUIRES: mutex_ is held.
  Next GetNext() {
    Next next;
    if (closing_) return next;
    if (!reading_ && !half_closed_ && !is_over_ &&
        inbox_bytes_ + backlog_ < kBacklogBytes)
      next.read = reading_ = true;
    if (!writing_ && !outbox_.empty()) {
      writing_ = true;
      next.write = std::move(outbox_.front());
      outbox_.pop_front();
      outbox_bytes_ -= Inflow::CostOf(*next.write);
    }
    return next;
  }

  void Start(Next& next) {
    if (next.read) rpc_.Read(&message_, read_.Tag());
    if (next.write) rpc_.Write(*next.write, wrote_.Tag());
  }

  // Works until there is nothing to do before the next event.
  void Work(bool polls) {
    for (;;) {
      Inbox inbox;
      {
        const std::lock_guard lock(mutex_);
        if (!is_woken_) {
          is_working_ = false;
          if (!is_finished_ || !is_done_ || reading_ || writing_) return;
          break;
        }
        if (polls && IsHeavy()) {
          // Alone: workers woken for each piece spin longer than they work.
          workshop_.arena.enqueue([this] {
            tbb::task_arena(1).execute(
                std::bind_front(&StreamCall::Work, this, /*polls=*/false));
          });
          return;
        }
        is_woken_ = false;
        inbox = {std::exchange(inbox_, {}), half_closed_, is_over_, writing_,
                 outbox_bytes_};
        inbox_bytes_ = 0;
      }
      Step(inbox);
    }
    Metrics& metrics = workshop_.metrics;
    delete this;
    metrics.CallEnds();  // last: the server may go once there is no call
  }

  // Whether the next step would keep the polling thread from other calls.
  bool IsHeavy() const {
    return stream_ && !is_over_ && inbox_bytes_ + backlog_ > 0 &&
           !stream_->IsLight(inbox_bytes_ + waiting_);
  }

  void Step(Inbox& inbox) {
    if (stream_) {
      const absl::Status status = TryStep(inbox);
      if (!status.ok() || (stream_->IsDone() && inbox.IsSent())) Close(status);
    }
    // Not before the last write is over: gRPC wants them one at a time.
    if (stream_ || inbox.writing || std::exchange(finishing_, true)) return;
    rpc_.Finish(ToGrpc(report_.status), finished_.Tag());
  }

  absl::Status TryStep(Inbox& inbox) {
    try {
      const MayRunOut scope;
      if (inbox.is_over || IsLate(context_))
        return absl::CancelledError("the client gave up");
      AXIS_RETURN_IF_ERROR(report_.status);
      AXIS_RETURN_IF_ERROR(Receive(inbox));
      AXIS_ASSIGN_OR_RETURN(const bool moved, stream_->Work());
      Pack(moved, inbox);
      return absl::OkStatus();
    } catch (const std::bad_alloc&) {
      return OutOfMemory();
    }
  }

  absl::Status Receive(Inbox& inbox) {
    for (Message& message : inbox.messages) {
      report_.received_bytes += static_cast<int64_t>(message.Length());
      inflow_.Add(message);
    }
    if (stream_->backlog() == 0) inflow_.Release();
    while (CanReceive()) {
      AXIS_ASSIGN_OR_RETURN(Message message,
                            inflow_.Next(call_, workshop_.admission));
      AXIS_RETURN_IF_ERROR(stream_->Receive(message));
    }
    if (inflow_.empty() && inbox.half_closed &&
        !std::exchange(told_half_closed_, true))
      return stream_->HalfClose();
    return absl::OkStatus();
  }

  bool CanReceive() const {
    return !inflow_.empty() && stream_->backlog() < kBacklogBytes;
  }

  // Hands what is ready over for sending; `inbox` learns of it.
  void Pack(bool moved, Inbox& inbox) {
    std::vector<Message> packed;
    while (inbox.outbox_bytes < kBacklogBytes) {
      std::optional<Message> message = stream_->NextMessage();
      if (!message) break;
      inbox.outbox_bytes += Inflow::CostOf(*message);
      packed.push_back(*std::move(message));
    }
    Next next;
    {
      const std::lock_guard lock(mutex_);
      if (moved || !packed.empty() || CanReceive()) is_woken_ = true;
      for (Message& message : packed) {
        outbox_bytes_ += Inflow::CostOf(message);
        outbox_.push_back(std::move(message));
      }
      waiting_ = inflow_.cost();
      backlog_ = stream_->backlog() + waiting_;
      next = GetNext();
    }
    Start(next);
  }

  // Nothing is done for the client any more but to tell it `status`.
  void Close(const absl::Status& status) {
    stream_.reset();
    inflow_.Clear();
    if (const char* why = lease_->refused()) report_.rejected = why;
    lease_.reset();
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
      outbox_.clear();
      inbox_.clear();
    }
    report_.status = status;
    report_.duration = absl::Now() - started_;
    RecordCall(workshop_, method_.method, method_.name, context_, report_);
  }

  bool IsOver() {
    const std::lock_guard lock(mutex_);
    return is_over_ || IsLate(context_);
  }

  const LiveCalls::Place place_;
  const StreamMethod& method_;
  const Workshop& workshop_;

  grpc::ServerContext context_;
  RawStream rpc_{&context_};
  Message message_;  // of the read under way
  StepOf<StreamCall, &StreamCall::Begin> begin_{this};
  StepOf<StreamCall, &StreamCall::Read> read_{this};
  StepOf<StreamCall, &StreamCall::Wrote> wrote_{this};
  StepOf<StreamCall, &StreamCall::Done> done_{this};
  StepOf<StreamCall, &StreamCall::Finished> finished_{this};

  // What events note for whoever works, and he for them.
  std::mutex mutex_;                           // guards these:
  bool is_working_ = true, is_woken_ = false;  // at first by Begin()
  bool reading_ = false, writing_ = false, half_closed_ = false;
  bool is_over_ = false;  // the client is gone
  bool closing_ = false;  // nothing is read or written any more
  bool is_done_ = false, is_finished_ = false;
  std::vector<Message> inbox_;
  int64_t inbox_bytes_ = 0;
  std::deque<Message> outbox_;
  int64_t outbox_bytes_ = 0;
  int64_t backlog_ = 0, waiting_ = 0;  // of stream_ and inflow_; of the latter

  absl::Time started_;  // from here on: of whoever works
  CallReport report_;
  std::optional<Admission::Lease> lease_{std::in_place, workshop_.admission};
  const CallContext call_{workshop_.max_message_bytes, *lease_, workshop_.pool,
                          report_, [this] { return IsOver(); }};
  Inflow inflow_;
  std::optional<Stream> stream_;  // until the status is known
  bool told_half_closed_ = false, finishing_ = false;
};

}  // namespace

void AwaitStream(const StreamMethod& method, const Workshop& workshop) {
  new StreamCall(method, workshop);
}

}  // namespace axis
