#include "server/standard/health.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "grpc/health/v1/health.grpc.pb.h"
#include "server/queue/event.h"

namespace axis {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using AsyncService = grpc::health::v1::Health::AsyncService;

class Watch;

// What is known of each name, and who wants to know.
class Board {
 public:
  // The status of `name`; SERVICE_UNKNOWN if there is no such name.
  HealthCheckResponse::ServingStatus Get(const std::string& name) const {
    const auto it = serving_.find(name);
    if (it == serving_.end()) return HealthCheckResponse::SERVICE_UNKNOWN;
    return it->second ? HealthCheckResponse::SERVING
                      : HealthCheckResponse::NOT_SERVING;
  }

  mutable std::mutex mutex;  // guards all here and the state of the watches
  std::map<std::string, bool> serving_;
  std::set<Watch*> watches;
  bool closed = false;  // no more watches
};

// One Check, from before it arrives until it is answered; owns itself.
class Check {
 public:
  Check(AsyncService& service, const Board& board,
        grpc::ServerCompletionQueue* queue, LiveCalls& live_calls)
      : place_(live_calls),
        service_(service),
        board_(board),
        queue_(queue),
        live_calls_(live_calls) {
    service_.RequestCheck(&context_, &request_, &writer_, queue_, queue_,
                          begin_.Tag());
  }

 private:
  void Begin(bool ok) {
    if (!ok) {
      delete this;
      return;
    }
    new Check(service_, board_, queue_, live_calls_);
    const std::lock_guard lock(board_.mutex);
    HealthCheckResponse response;
    response.set_status(board_.Get(request_.service()));
    if (response.status() == HealthCheckResponse::SERVICE_UNKNOWN) {
      writer_.FinishWithError({grpc::StatusCode::NOT_FOUND, "unknown service"},
                              sent_.Tag());
    } else {
      writer_.Finish(response, grpc::Status::OK, sent_.Tag());
    }
  }
  void Sent(bool) { delete this; }

  const LiveCalls::Place place_;
  AsyncService& service_;
  const Board& board_;
  grpc::ServerCompletionQueue* const queue_;
  LiveCalls& live_calls_;
  grpc::ServerContext context_;
  HealthCheckRequest request_;
  grpc::ServerAsyncResponseWriter<HealthCheckResponse> writer_{&context_};
  StepOf<Check, &Check::Begin> begin_{this};
  StepOf<Check, &Check::Sent> sent_{this};
};

// One Watch, from before it arrives until it is gone; owns itself. At most one
// write is under way; it always carries the newest status.
class Watch {
 public:
  Watch(AsyncService& service, Board& board, grpc::ServerCompletionQueue* queue,
        LiveCalls& live_calls)
      : place_(live_calls),
        service_(service),
        board_(board),
        queue_(queue),
        live_calls_(live_calls) {
    context_.AsyncNotifyWhenDone(done_.Tag());
    service_.RequestWatch(&context_, &request_, &writer_, queue_, queue_,
                          begin_.Tag());
  }

  // Sends what has changed, if anything; or ends the watch.
  // REQUIRES: board.mutex is held.
  void Update() {
    if (!begun_ || busy_ || finishing_) return;
    const auto status = board_.Get(request_.service());
    if (gone_ || board_.closed) {
      finishing_ = true;
      writer_.Finish(gone_ ? grpc::Status::CANCELLED
                           : grpc::Status(grpc::StatusCode::UNAVAILABLE,
                                          "the server is shutting down"),
                     finished_.Tag());
    } else if (status != told_) {
      busy_ = true;
      told_ = status;
      HealthCheckResponse response;
      response.set_status(status);
      writer_.Write(response, written_.Tag());
    }
  }

 private:
  void Begin(bool ok) {
    if (!ok) {
      delete this;
      return;
    }
    new Watch(service_, board_, queue_, live_calls_);
    const std::lock_guard lock(board_.mutex);
    board_.watches.insert(this);
    begun_ = true;
    Update();
  }
  void Written(bool ok) {
    const std::lock_guard lock(board_.mutex);
    busy_ = false;
    if (!ok) gone_ = true;
    Update();
  }
  void Done(bool) {
    {
      const std::lock_guard lock(board_.mutex);
      gone_ = true;
      Update();
    }
    Leave();
  }
  void Finished(bool) {
    {
      const std::lock_guard lock(board_.mutex);
      board_.watches.erase(this);
    }
    Leave();
  }
  // Gone once the status is sent and gRPC has said that the call is done;
  // either may come first.
  void Leave() {
    if (--pending_ == 0) delete this;
  }

  const LiveCalls::Place place_;
  AsyncService& service_;
  Board& board_;
  grpc::ServerCompletionQueue* const queue_;
  LiveCalls& live_calls_;
  grpc::ServerContext context_;
  HealthCheckRequest request_;
  grpc::ServerAsyncWriter<HealthCheckResponse> writer_{&context_};
  HealthCheckResponse::ServingStatus told_ = HealthCheckResponse::UNKNOWN;
  bool begun_ = false;      // else Done() may come first
  bool busy_ = false;       // a write is under way
  bool gone_ = false;       // the client is
  bool finishing_ = false;  // the status is under way
  std::atomic<int> pending_{2};
  StepOf<Watch, &Watch::Begin> begin_{this};
  StepOf<Watch, &Watch::Written> written_{this};
  StepOf<Watch, &Watch::Done> done_{this};
  StepOf<Watch, &Watch::Finished> finished_{this};
};

class AsyncHealth final : public Health {
 public:
  grpc::Service* service() override { return &service_; }

  void Start(grpc::ServerCompletionQueue* queue,
             LiveCalls& live_calls) override {
    new Check(service_, board_, queue, live_calls);
    new Watch(service_, board_, queue, live_calls);
  }

  void Set(const std::string& name, bool serving) override {
    const std::lock_guard lock(board_.mutex);
    board_.serving_[name] = serving;
    for (Watch* watch : board_.watches) watch->Update();
  }

  void EndWatches() override {
    const std::lock_guard lock(board_.mutex);
    board_.closed = true;
    for (Watch* watch : board_.watches) watch->Update();
  }

 private:
  Board board_;
  AsyncService service_;
};

}  // namespace

std::unique_ptr<Health> MakeHealth() { return std::make_unique<AsyncHealth>(); }

}  // namespace axis
