// The stream of Client::StreamPipeline: one thread writes while another reads.
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "axis/v1/tensor_service.pb.h"
#include "client/client.h"
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

// Sends the request. `Run` is for a thread of its own, the rest for the one
// that waits for events.
class Writer {
 public:
  explicit Writer(Call& call) : call_(call) {}

  // Sends `input` and `ops`, and then what `source` gives, until the end or
  // `Stop`. Returns the error of the source.
  absl::Status Run(const Tensor& input, absl::Span<const pb::Op> ops,
                   const Client::Source& source) {
    pb::StreamPipelineRequest rest;
    rest.mutable_ops()->Add(ops.begin(), ops.end());
    const Tensor header = {input.data_type, input.shape, {}, input.layout};
    bool good = Write(PackRequest({&header, 1}, rest)) && WriteData(input.data);
    while (good && source) {
      const absl::StatusOr<Bytes> bytes = source();
      if (!bytes.ok()) return bytes.status();
      if (bytes->size() == 0) break;
      good = WriteData(*bytes);
    }
    if (good) Do([this] { call_.WritesDone(Tag(kWritten)); });
    return absl::OkStatus();
  }

  // What was under way has been done, or not. The latter says nothing:
  // gRPC 1.51 tells it of a message that it keeps, to send it when it tries
  // again; and would wait for the rest of them. Where a call ends, reading
  // does, too.
  void OnWritten() {
    const std::lock_guard lock(mutex_);
    under_way_ = false;
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

  // Whether an output may end here.
  absl::Status End() const {
    if (missing_ == 0) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("an output of the stream ends ",
                                            missing_, " bytes short"));
  }

 private:
  const Client::Sink& sink_;
  bool begun_ = false;
  uint64_t missing_ = 0;  // bytes of the output that has begun
};

}  // namespace

absl::Status Client::StreamPipeline(const Tensor& input,
                                    absl::Span<const pb::Op> ops,
                                    const Sink& sink, const Source& source) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + options_.timeout));
  grpc::CompletionQueue queue;
  const auto call = streams_.PrepareCall(
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
      writer.OnWritten();
      continue;
    }
    if (ok) read = reader.Take(message);
    reading = ok && read.ok();
    if (reading) call->Read(&message, Tag(kRead));
  }
  if (!read.ok()) context.TryCancel();

  // With the status a write that is under way comes to its end too.
  writer.Stop();
  grpc::Status status;
  call->Finish(&status, Tag(kFinished));
  for (bool finished = false; !finished || writer.under_way();) {
    const Event event = Next(queue).first;
    if (event == kWritten) writer.OnWritten();
    if (event == kFinished) finished = true;
  }
  if (thread.joinable()) thread.join();
  queue.Shutdown();
  while (Next(queue).first != 0) {
  }
  if (!read.ok()) return read;
  if (!written.ok()) return written;
  if (!status.ok()) return ToStatus(status, *stream_channel_);
  return reader.End();
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
