#include "server/connections/conversation.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>

#include "kernels/handover.h"

namespace axis {
namespace {

// With which a client begins (RFC 9113, section 3.4).
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// gRPC lets go of streams that were reset when it has caught up with what it
// reads, not before. So many a millisecond it takes on a slow machine, too.
constexpr double kResetsPerMs = 1;

// Acknowledgements that a client may wait for; one is usual.
constexpr int64_t kMaxOwed = 1000;

std::atomic<int64_t> limit{INT64_MAX};
std::atomic<int64_t> all_bytes{0};
std::atomic<int64_t> conversations{0};  // in HTTP/2
std::atomic<int64_t> hung_up{0};

}  // namespace

void LimitStreams(int64_t bytes) { limit = bytes; }

int64_t StreamBytes(size_t block) {
  // Measured: a field of a byte (one that was sent before) takes 160, and what
  // gRPC takes as headers at most, 8 KiB, is 24.
  constexpr size_t kOwn = 14 << 10, kByte = 160, kMost = 24 << 10;
  return static_cast<int64_t>(kOwn + std::min(kMost, kByte * block));
}

int64_t HungUpConnections() { return hung_up; }

Conversation::Conversation(Clock::time_point (*now)())
    : now_(now), asked_(kPreface.size()), said_(0) {}

Conversation::~Conversation() {
  TakeOver(&asked_);
  TakeOver(&said_);
  all_bytes -= open_bytes_;
  if (language_ == Language::kHttp2) --conversations;
}

bool Conversation::Hear(std::span<const uint8_t> bytes) {
  const InTurn turn(&asked_);
  if (bytes.empty() || is_over_) return !is_over_;
  if (language_ == Language::kUnknown) {
    const bool is_http2 = bytes.front() == kPreface.front();
    language_ = is_http2 ? Language::kHttp2 : Language::kOther;
    conversations += is_http2;
  }
  if (language_ == Language::kOther) return true;
  asked_.Read(bytes, [this](const Frame& frame) {
    if (!is_over_ && !IsFine(frame)) is_over_ = true;
  });
  if (is_over_) ++hung_up;
  return !is_over_;
}

void Conversation::Say(std::span<const uint8_t> bytes) {
  const InTurn turn(&said_);
  // We begin as well, and may be the first.
  if (language_ == Language::kOther) return;
  said_.Read(bytes, [this](const Frame& frame) {
    if (frame.EndsStream()) Close(frame.stream);
    if (frame.IsAck()) --owed_;
  });
}

bool Conversation::IsFine(const Frame& frame) {
  switch (frame.type) {
    case Frame::kHeaders:
      block_ = FrameReader::kHeadBytes + frame.size;
      return block_ <= kMaxBlockBytes &&
             Open(frame.stream,
                  StreamBytes(frame.EndsHeaders() ? frame.size
                                                  : kMaxBlockBytes));
    case Frame::kContinuation:
      block_ += FrameReader::kHeadBytes + frame.size;
      return block_ <= kMaxBlockBytes;
    case Frame::kRstStream:
      return Reset(frame.stream);
    case Frame::kSettings:
    case Frame::kPing:
      return frame.IsAck() || ++owed_ <= kMaxOwed;
    default:
      return true;
  }
}

// Whether it may be, if it is a new one.
bool Conversation::Open(uint32_t stream, int64_t bytes) {
  if (stream <= newest_) return true;
  newest_ = stream;
  const int64_t all = all_bytes += bytes;
  const std::lock_guard lock(mutex_);
  open_.emplace(stream, bytes);
  open_bytes_ += bytes;
  return open_.size() <= 2 * size_t{kMaxStreams} &&
         (all <= limit || open_bytes_ <= limit / conversations);
}

// Whether it was open.
bool Conversation::Close(uint32_t stream) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(stream);
  if (found == open_.end()) return false;
  all_bytes -= found->second;
  open_bytes_ -= found->second;
  open_.erase(found);
  return true;
}

// Whether it may, if it was open.
bool Conversation::Reset(uint32_t stream) {
  if (!Close(stream)) return true;
  const Clock::time_point now = now_();
  const std::chrono::duration<double, std::milli> passed = now - reset_at_;
  resets_ = std::max(0.0, resets_ - passed.count() * kResetsPerMs) + 1;
  reset_at_ = now;
  return resets_ <= 2 * kMaxStreams;
}

}  // namespace axis
