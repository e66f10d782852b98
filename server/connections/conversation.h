// What a client may ask of gRPC at a time over one connection.
//
// gRPC 1.51 limits none of this: it keeps 12 to 38 KiB, past its quota, for
// each stream that is open (a call that never sends a message, a watch of
// health) or was reset just now, 160 bytes for each PING it has yet to answer,
// and parses a header block in the square of the number of its frames. So
// frames are counted as they pass, before gRPC has them, and who asks for too
// much is hung up on.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "absl/container/flat_hash_map.h"
#include "server/connections/frames.h"

namespace axis {

// Streams that a client is told it may have open, of one connection. Twice as
// many are taken of who has not read that yet, or resets them.
inline constexpr int kMaxStreams = 1000;

// A header block may have so many bytes, with the heads of its frames; gRPC
// takes 8 KiB of headers.
inline constexpr size_t kMaxBlockBytes = 64 << 10;

// What the streams that all clients together have open may take, in bytes;
// while they take more, no connection may open one beyond an equal part of it.
void LimitStreams(int64_t bytes);

// What a stream takes of that, if its header block has so many bytes.
int64_t StreamBytes(size_t block);

// How many connections have asked for too much so far.
int64_t HungUpConnections();

// Of one connection. One thread at a time may Hear(), and one Say(); gRPC sees
// to it.
class Conversation {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Conversation(Clock::time_point (*now)() = Clock::now);
  ~Conversation();
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  // Bytes that the client has sent, in order. False, from then on: it has asked
  // for too much, and gRPC must not have them.
  bool Hear(std::span<const uint8_t> bytes);

  // Bytes that have been sent to the client, in order.
  void Say(std::span<const uint8_t> bytes);

 private:
  enum class Language { kUnknown, kHttp2, kOther };

  bool IsFine(const Frame& frame);
  bool Open(uint32_t stream, int64_t bytes);
  bool Close(uint32_t stream);
  bool Reset(uint32_t stream);

  Clock::time_point (*const now_)();
  FrameReader asked_, said_;
  std::atomic<Language> language_ = Language::kUnknown;
  bool is_over_ = false;  // hung up on

  uint32_t newest_ = 0;  // of the streams so far
  size_t block_ = 0;     // bytes of the header block so far
  double resets_ = 0;    // of which gRPC may not have let go
  Clock::time_point reset_at_;
  std::atomic<int64_t> owed_ = 0;  // acknowledgements

  std::mutex mutex_;
  // Streams that are open, and what they take. Guarded by mutex_.
  absl::flat_hash_map<uint32_t, int64_t> open_;
  int64_t open_bytes_ = 0;
};

}  // namespace axis
