// The stream of Client::StreamPipeline: one thread writes while another reads.
// It is begun again here and not by gRPC, whose 1.51 loses messages that were
// on their way when a server turned the first attempt away.
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "axis/v1/tensor_service.pb.h"
#include "client/client.h"
#include "client/retry.h"
#include "client/wire.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"

namespace axis {
namespace {

using Call = grpc::GenericClientAsyncReaderWriter;

// What an event of the completion queue is about.
enum Event : intptr_t { kStarted = 1, kRead, kWritten, kFinished };
void* Tag(Event event) { return reinterpret_cast<void*>(event); }

// The next event, and whether it went well.
std::pair<Event, bool> Next(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return {static_cast<Event>(reinterpret_cast<intptr_t>(tag)), ok};
}

// Whether the server did not take the call: it is gone, or (CANCELLED) was on
// its way out just then.
bool IsTurnedAway(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ||
         status.error_code() == grpc::StatusCode::CANCELLED;
}

// What a source gives, for as many attempts as it takes.
class Replay {
 public:
  explicit Replay(const Client::Source& source) : source_(source) {}

  absl::StatusOr<Bytes> Next() {
    if (at_ < kept_.size()) return kept_[at_++];
    absl::StatusOr<Bytes> bytes = source_ ? source_() : Bytes();
    if (!bytes.ok()) return bytes;
    given_ += bytes->size();
    if (CanRewind()) {
      kept_.push_back(*bytes);
    } else {
      kept_.clear();
    }
    at_ = kept_.size();
    return bytes;
  }

  // Whether all that was given is here still.
  bool CanRewind() const { return given_ <= kMost; }
  void Rewind() { at_ = 0; }

 private:
  static constexpr uint64_t kMost = 4 * Client::kPieceBytes;

  const Client::Source& source_;
  uint64_t given_ = 0;       // bytes
  std::vector<Bytes> kept_;  // all that were given, or none
  size_t at_ = 0;            // of `kept_`, where this attempt is
};

// Sends the request. `Run` is for a thread of its own, the rest for the one
// that waits for events.
class Writer {
 public:
  explicit Writer(Call& call) : call_(call) {}

  // Sends `input` and `ops`, and then what `source` gives, until the end or
  // `Stop`. Returns the error of the source.
  absl::Status Run(const Tensor& input, absl::Span<const pb::Op> ops,
                   Replay& source) {
    pb::StreamPipelineRequest rest;
    rest.mutable_ops()->Add(ops.begin(), ops.end());
    const Tensor header = {input.data_type, input.shape, {}, input.layout};
    bool good = Write(PackRequest({&header, 1}, rest)) && WriteData(input.data);
    while (good) {
      const absl::StatusOr<Bytes> bytes = source.Next();
      if (!bytes.ok()) return bytes.status();
      if (bytes->size() == 0) break;
      good = WriteData(*bytes);
    }
    if (good) Do([this] { call_.WritesDone(Tag(kWritten)); });
    return absl::OkStatus();
  }

  // What was under way has been done, or the call is over.
  void OnWritten(bool done) {
    const std::lock_guard lock(mutex_);
    under_way_ = false;
    stopped_ = stopped_ || !done;
    changed_.notify_one();
  }

  // Begins nothing more.
  void Stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }

  bool under_way() {
    const std::lock_guard lock(mutex_);
    return under_way_;
  }

 private:
  bool WriteData(const Bytes& data) {
    constexpr size_t kMost = Client::kPieceBytes;
    for (size_t at = 0; at < data.size(); at += kMost) {
      Tensor piece;
      piece.data = data.Sub(at, std::min(kMost, data.size() - at));
      if (!Write(PackRequest({&piece, 1}, pb::StreamPipelineRequest())))
        return false;
    }
    return true;
  }

  bool Write(const grpc::ByteBuffer& message) {
    return Do([&] { call_.Write(message, Tag(kWritten)); });
  }

  // Begins something, waits until it is done, and returns whether to go on.
  template <typename Begin>
  bool Do(Begin begin) {
    std::unique_lock lock(mutex_);
    if (stopped_) return false;
    under_way_ = true;
    begin();
    changed_.wait(lock, [this] { return !under_way_; });
    return !stopped_;
  }

  Call& call_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool under_way_ = false;  // guarded by `mutex_`
  bool stopped_ = false;    // guarded by `mutex_`
};

// Takes the response apart and checks that it is made of whole outputs.
class Reader {
 public:
  explicit Reader(const Client::Sink& sink) : sink_(sink) {}

  absl::Status Take(grpc::ByteBuffer& message) {
    took_ = true;
    absl::StatusOr<std::vector<Tensor>> pieces = UnpackResponse(message, false);
    if (!pieces.ok()) return pieces.status();
    Tensor& piece = pieces->front();
    if (piece.data_type != pb::DATA_TYPE_UNSPECIFIED) {
      if (const absl::Status status = End(); !status.ok()) return status;
      const absl::StatusOr<int64_t> bytes = DataBytes(piece);
      if (!bytes.ok())
        return absl::InternalError(absl::StrCat("an output of the stream: ",
                                                bytes.status().message()));
      missing_ = static_cast<uint64_t>(*bytes);
      begun_ = true;
    }
    if (!begun_ || piece.data.size() > missing_)
      return absl::InternalError(
          begun_ ? "an output of the stream passes its end"
                 : "the stream begins without the header of an output");
    missing_ -= piece.data.size();
    return sink_(std::move(piece));
  }

  bool took() const { return took_; }

  // Whether an output may end here.
  absl::Status End() const {
    if (missing_ == 0) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("an output of the stream ends ",
                                            missing_, " bytes short"));
  }

 private:
  const Client::Sink& sink_;
  bool took_ = false;
  bool begun_ = false;
  uint64_t missing_ = 0;  // bytes of the output that has begun
};

// How an attempt went.
struct Outcome {
  absl::Status ours;  // of the source, the sink or the answer; goes first
  grpc::Status status;
  bool answered;  // with a message at least
};

Outcome Attempt(grpc::GenericStub& stub, absl::Time deadline,
                const Tensor& input, absl::Span<const pb::Op> ops,
                const Client::Sink& sink, Replay& source) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(deadline));
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(
      &context, "/axis.v1.TensorService/StreamPipeline", &queue);
  call->StartCall(Tag(kStarted));
  bool reading = Next(queue).second;

  Writer writer(*call);
  absl::Status written;
  std::thread thread;
  if (reading)
    thread = std::thread([&] {
      written = writer.Run(input, ops, source);
      if (!written.ok()) context.TryCancel();
    });

  Reader reader(sink);
  absl::Status read;
  grpc::ByteBuffer message;
  if (reading) call->Read(&message, Tag(kRead));
  while (reading) {
    const auto [event, ok] = Next(queue);
    if (event == kWritten) {
      writer.OnWritten(ok);
      continue;
    }
    if (ok) read = reader.Take(message);
    reading = ok && read.ok();
    if (reading) call->Read(&message, Tag(kRead));
  }
  if (!read.ok()) context.TryCancel();

  // With the status a write that is under way comes to its end too.
  writer.Stop();
  Outcome outcome;
  call->Finish(&outcome.status, Tag(kFinished));
  for (bool finished = false; !finished || writer.under_way();) {
    const auto [event, ok] = Next(queue);
    if (event == kWritten) writer.OnWritten(ok);
    if (event == kFinished) finished = true;
  }
  if (thread.joinable()) thread.join();
  queue.Shutdown();
  while (Next(queue).first != 0) {
  }
  outcome.ours = !read.ok() ? read : written;
  if (outcome.ours.ok() && outcome.status.ok()) outcome.ours = reader.End();
  outcome.answered = reader.took();
  return outcome;
}

}  // namespace

absl::Status Client::StreamPipeline(const Tensor& input,
                                    absl::Span<const pb::Op> ops,
                                    const Sink& sink, const Source& source) {
  const absl::Time deadline = absl::Now() + options_.timeout;
  Replay replay(source);
  absl::BitGen random;
  absl::Duration pause = kFirstPause;
  for (int attempt = 1;; ++attempt, pause *= 2) {
    const Outcome outcome =
        Attempt(streams_, deadline, input, ops, sink, replay);
    if (!outcome.ours.ok()) return outcome.ours;
    if (attempt == kMostAttempts || !IsTurnedAway(outcome.status) ||
        outcome.answered || !replay.CanRewind())
      return ToStatus(outcome.status, *stream_channel_);
    replay.Rewind();
    absl::SleepFor(std::min(pause * absl::Uniform(random, 0.8, 1.2),
                            deadline - absl::Now()));
  }
}

absl::StatusOr<std::vector<Tensor>> Client::CallAsStream(
    const Tensor& input, absl::Span<const pb::Op> ops) {
  std::vector<Tensor> outputs;
  const absl::Status status = StreamPipeline(input, ops, [&](Tensor piece) {
    if (piece.data_type == pb::DATA_TYPE_UNSPECIFIED)
      outputs.back().data.Append(piece.data);
    else
      outputs.push_back(std::move(piece));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return outputs;
}

}  // namespace axis
