// HTTP/2 frames as they pass: what lies in a stream of bytes that comes in
// pieces of any size (RFC 9113, sections 3.4 and 4.1).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace axis {

struct Frame {
  enum Type : uint8_t {
    kData = 0,
    kHeaders = 1,
    kRstStream = 3,
    kSettings = 4,
    kPing = 6,
    kContinuation = 9,
  };

  uint32_t size = 0;  // of its payload, in bytes
  uint8_t type = 0;   // one of Type, or another
  uint8_t flags = 0;
  uint32_t stream = 0;  // 0 is the connection itself

  bool EndsStream() const {
    return type == kRstStream ||
           ((type == kData || type == kHeaders) && (flags & 1) != 0);
  }
  // Of a kHeaders.
  bool EndsHeaders() const { return (flags & 4) != 0; }
  // The answer to one of these.
  bool IsAck() const {
    return (type == kSettings || type == kPing) && (flags & 1) != 0;
  }
};

// Of one direction of a connection. Payloads are stepped over.
class FrameReader {
 public:
  static constexpr size_t kHeadBytes = 9;

  // Before the first frame there are `preface` bytes.
  explicit FrameReader(size_t preface) : skip_(preface) {}

  // Calls take(Frame) for each whose head ends in `bytes`.
  template <class Take>
  void Read(std::span<const uint8_t> bytes, const Take& take) {
    for (;;) {
      const size_t skipped = std::min(skip_, bytes.size());
      skip_ -= skipped;
      bytes = bytes.subspan(skipped);
      if (bytes.empty()) return;
      const uint8_t* head = bytes.data();
      size_t more = kHeadBytes;
      if (held_ > 0 || bytes.size() < kHeadBytes) {  // it comes in pieces
        more = std::min(kHeadBytes - held_, bytes.size());
        std::copy_n(head, more, held_head_.begin() + held_);
        held_ += more;
        if (held_ < kHeadBytes) return;
        held_ = 0;
        head = held_head_.data();
      }
      bytes = bytes.subspan(more);
      const Frame frame{.size = Number(head) >> 8,
                        .type = head[3],
                        .flags = head[4],
                        .stream = Number(head + 5) & 0x7FFFFFFF};
      skip_ = frame.size;
      take(frame);
    }
  }

 private:
  // Four bytes as the network has them.
  static uint32_t Number(const uint8_t* bytes) {
    return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 |
           uint32_t{bytes[2]} << 8 | uint32_t{bytes[3]};
  }

  size_t skip_;      // bytes until the next head
  size_t held_ = 0;  // bytes of a head that has begun
  std::array<uint8_t, kHeadBytes> held_head_{};
};

}  // namespace axis
