#include "server/rpc/tensor_service.h"

#include <atomic>
#include <new>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "axis/v1/tensor_service.grpc.pb.h"
#include "kernels/status.h"
#include "server/call/corridor.h"
#include "server/call/rpc_status.h"
#include "server/rpc/event.h"
#include "server/rpc/record.h"
#include "server/rpc/stream_call.h"

namespace axis {

namespace pb = ::axis::v1;

namespace {

// Raw: the methods get bytes, not messages, so that tensor data is never
// parsed. Not a generic service: reflection would not list it, and grpcurl
// needs reflection.
using RawService = pb::TensorService::WithRawMethod_Transpose<
    pb::TensorService::WithRawMethod_ShuffleChannels<
        pb::TensorService::WithRawMethod_VariadicSplit<
            pb::TensorService::WithRawMethod_Shuffle<
                pb::TensorService::WithRawMethod_RunPipeline<
                    pb::TensorService::WithRawMethod_StreamPipeline<
                        pb::TensorService::Service>>>>>>;

using Writer = grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>;

struct Method {
  const char* name;
  void (*request)(RawService&, grpc::ServerContext*, grpc::ByteBuffer*, Writer*,
                  grpc::ServerCompletionQueue*, void* tag);
  absl::Status (*serve)(grpc::ByteBuffer&, grpc::ByteBuffer&,
                        const CallContext&);
  // The largest request that is served on the polling thread: handing it over
  // costs 10 to 100 us, and every other call waits meanwhile. A small pipeline
  // can ask for much work, so it must be very small.
  size_t inline_bytes;
};

constexpr size_t kInlineOp = 1 << 20;
constexpr size_t kInlinePipeline = 4 << 10;

#define AXIS_METHOD(name, inline_bytes)                                                            \
  {                                                                                                \
#name,                                                                                         \
        [](RawService & s, grpc::ServerContext * context,                                          \
           grpc::ByteBuffer * in, Writer * out,                                                    \
           grpc::ServerCompletionQueue * queue,                                                    \
           void*                                                                                   \
               tag) { s.Request##name(context, in, out, queue, queue, tag); },                     \
                                                                            Serve <                \
                                                                                pb::name##Request> \
                                                                            ,                      \
                                                                            inline_bytes           \
  }

const Method kMethods[] = {
    AXIS_METHOD(Transpose, kInlineOp), AXIS_METHOD(ShuffleChannels, kInlineOp),
    AXIS_METHOD(VariadicSplit, kInlineOp), AXIS_METHOD(Shuffle, kInlineOp),
    AXIS_METHOD(RunPipeline, kInlinePipeline)};
#undef AXIS_METHOD

// The method after those of kMethods.
constexpr const char* kStreamName = "StreamPipeline";

// How many calls of each method gRPC can hand over before we ask for more.
constexpr int kPrepared = 32;

// One call, from before it arrives until it is gone; owns itself.
class UnaryCall {
 public:
  // Waits for the next call of kMethods[method].
  static void Await(RawService& service, const Workshop& workshop,
                    grpc::ServerCompletionQueue* queue, size_t method) {
    new UnaryCall(service, workshop, queue, method);
  }

 private:
  UnaryCall(RawService& service, const Workshop& workshop,
            grpc::ServerCompletionQueue* queue, size_t method)
      : service_(service), workshop_(workshop), queue_(queue), method_(method) {
    context_.AsyncNotifyWhenDone(&done_);
    kMethods[method_].request(service_, &context_, &request_, &writer_, queue_,
                              &begin_);
  }

  // A call has arrived; or none will any more.
  void Begin(bool ok) {
    if (!ok) {
      delete this;
      return;
    }
    Await(service_, workshop_, queue_, method_);
    started_ = absl::Now();
    workshop_.metrics.CallBegins();
    report_.received_bytes = static_cast<int64_t>(request_.Length());
    if (request_.Length() <= kMethods[method_].inline_bytes) {
      Work();
    } else {
      workshop_.arena.enqueue([this] { Work(); });
    }
  }

  void Work() {
    try {
      report_.status = TryWork();
    } catch (const std::bad_alloc&) {
      report_.status =
          WithRetry(absl::ResourceExhaustedError("the server is out of memory"),
                    absl::Seconds(1));
    }
    request_.Clear();
    if (!report_.status.ok()) response_.Clear();
    report_.sent_bytes = static_cast<int64_t>(response_.Length());
    report_.duration = absl::Now() - started_;
    RecordCall(workshop_, method_, kMethods[method_].name, context_, report_);
    if (report_.status.ok()) {
      writer_.Finish(response_, grpc::Status::OK, &sent_);
    } else {
      writer_.FinishWithError(ToGrpc(report_.status), &sent_);
    }
  }

  absl::Status TryWork() {
    if (IsOver()) return absl::CancelledError("the client gave up");
    if (report_.received_bytes > workshop_.max_message_bytes) {
      report_.rejected = "message_bytes";
      return absl::ResourceExhaustedError(
          absl::StrCat("the request is ", report_.received_bytes,
                       " bytes, more than this "
                       "server's --max_message_bytes=",
                       workshop_.max_message_bytes,
                       "; raise it here and the limits of the client, or use "
                       "StreamPipeline"));
    }
    AXIS_RETURN_IF_ERROR(lease_.Take(report_.received_bytes));
    return kMethods[method_].serve(
        request_, response_,
        {workshop_.max_message_bytes, lease_, workshop_.pool, report_,
         [this] { return IsOver(); }});
  }

  bool IsOver() const { return context_.IsCancelled() || IsLate(context_); }

  // The call is gone once its status is sent and gRPC has said that it is
  // done; either may come first.
  void Sent(bool) { Leave(); }
  void Done(bool) { Leave(); }
  void Leave() {
    if (--pending_ > 0) return;
    workshop_.metrics.CallEnds();
    delete this;
  }

  RawService& service_;
  const Workshop& workshop_;
  grpc::ServerCompletionQueue* const queue_;
  const size_t method_;

  grpc::ServerContext context_;
  grpc::ByteBuffer request_, response_;
  Writer writer_{&context_};
  Admission::Lease lease_{workshop_.admission};
  CallReport report_;
  absl::Time started_;

  StepOf<UnaryCall, &UnaryCall::Begin> begin_{this};
  StepOf<UnaryCall, &UnaryCall::Sent> sent_{this};
  StepOf<UnaryCall, &UnaryCall::Done> done_{this};
  std::atomic<int> pending_{2};
};

class AsyncTensorService final : public TensorService {
 public:
  explicit AsyncTensorService(const Workshop& workshop) : workshop_(workshop) {}

  grpc::Service* service() override { return &service_; }

  void Start(grpc::ServerCompletionQueue* queue) override {
    for (size_t method = 0; method < std::size(kMethods); ++method)
      for (int i = 0; i < kPrepared; ++i)
        UnaryCall::Await(service_, workshop_, queue, method);
    stream_method_.request = [this, queue](grpc::ServerContext* context,
                                           RawStream* stream, void* tag) {
      service_.RequestStreamPipeline(context, stream, queue, queue, tag);
    };
    for (int i = 0; i < kPrepared; ++i) AwaitStream(stream_method_, workshop_);
  }

 private:
  const Workshop workshop_;
  RawService service_;
  StreamMethod stream_method_{kStreamName, std::size(kMethods), {}};
};

}  // namespace

std::vector<std::string> TensorService::MethodNames() {
  std::vector<std::string> names;
  for (const Method& method : kMethods) names.push_back(method.name);
  names.push_back(kStreamName);
  return names;
}

std::unique_ptr<TensorService> MakeTensorService(const Workshop& workshop) {
  return std::make_unique<AsyncTensorService>(workshop);
}

}  // namespace axis
