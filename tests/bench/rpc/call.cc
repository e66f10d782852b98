#include "tests/bench/rpc/call.h"

#include <chrono>
#include <optional>

namespace axis::bench {
namespace {

// Whatever happens, no call lasts longer.
constexpr std::chrono::seconds kDeadline(60);

class UnaryCall final : public Call {
 public:
  UnaryCall(const Exchange& exchange, bool keep)
      : exchange_(exchange), keep_(keep) {}

  void Start(grpc::GenericStub& stub, grpc::CompletionQueue& queue) override {
    reader_.reset();  // lives in memory of the context
    context_.emplace();
    context_->set_deadline(std::chrono::system_clock::now() + kDeadline);
    response_.Clear();
    reader_ = stub.PrepareUnaryCall(&*context_, exchange_.method,
                                    exchange_.requests[0], &queue);
    reader_->StartCall();
    reader_->Finish(&response_, &status_, &finished_);
  }

  bool Proceed(int, bool) override {
    received_bytes_ = response_.Length();
    if (keep_) responses_ = {response_};
    return true;
  }

 private:
  const Exchange& exchange_;
  const bool keep_;
  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader_;
  grpc::ByteBuffer response_;
  Tag finished_{this, 0};
};

// Writes and reads at the same time.
class StreamCall final : public Call {
 public:
  StreamCall(const Exchange& exchange, bool keep)
      : exchange_(exchange), keep_(keep) {}

  void Start(grpc::GenericStub& stub, grpc::CompletionQueue& queue) override {
    stream_.reset();  // lives in memory of the context
    context_.emplace();
    context_->set_deadline(std::chrono::system_clock::now() + kDeadline);
    received_bytes_ = sent_ = 0;
    responses_.clear();
    reading_ = true;
    stream_ = stub.PrepareCall(&*context_, exchange_.method, &queue);
    stream_->StartCall(&tags_[kStarted]);
  }

  bool Proceed(int operation, bool ok) override {
    switch (operation) {
      case kStarted:
        if (!ok) {
          reading_ = writing_ = false;
          stream_->Finish(&status_, &tags_[kFinished]);
          return false;
        }
        stream_->Read(&response_, &tags_[kRead]);
        Write();
        return false;
      case kWritten:
        writing_ = false;
        if (ok && reading_ && sent_ < exchange_.requests.size()) Write();
        break;
      case kRead:
        if (ok) {
          received_bytes_ += response_.Length();
          if (keep_) responses_.push_back(response_);
          stream_->Read(&response_, &tags_[kRead]);
          return false;
        }
        reading_ = false;
        break;
      default:
        return true;
    }
    if (!reading_ && !writing_) stream_->Finish(&status_, &tags_[kFinished]);
    return false;
  }

 private:
  enum Operation { kStarted, kWritten, kRead, kFinished };

  void Write() {
    writing_ = true;
    grpc::WriteOptions options;
    if (sent_ + 1 == exchange_.requests.size()) options.set_last_message();
    stream_->Write(exchange_.requests[sent_++], options, &tags_[kWritten]);
  }

  const Exchange& exchange_;
  const bool keep_;
  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  grpc::ByteBuffer response_;
  size_t sent_ = 0;
  bool reading_ = false, writing_ = false;
  Tag tags_[4] = {
      {this, kStarted}, {this, kWritten}, {this, kRead}, {this, kFinished}};
};

}  // namespace

std::unique_ptr<Call> MakeCall(const Exchange& exchange, bool keep_responses) {
  if (exchange.streams)
    return std::make_unique<StreamCall>(exchange, keep_responses);
  return std::make_unique<UnaryCall>(exchange, keep_responses);
}

}  // namespace axis::bench
