// Scratch memory: where blocks rest between source and destination.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace axis {

inline constexpr int64_t kStageBytes = 640 << 10;
inline constexpr int64_t kFetchBytes = 320 << 10;
inline constexpr int64_t kUnpackedBytes = 384 << 10;
inline constexpr int64_t kBandBytes = 128 << 10;
inline constexpr int64_t kExchangeBytes = 16 << 10;

// Memory aligned to pages.
class Scratch {
 public:
  explicit Scratch(int64_t bytes)
      : bytes_(static_cast<uint8_t*>(
            ::operator new(static_cast<size_t>(bytes), kPage))) {}
  uint8_t* get() const { return bytes_.get(); }

 private:
  static constexpr std::align_val_t kPage{4096};
  struct Free {
    void operator()(uint8_t* bytes) const { ::operator delete(bytes, kPage); }
  };
  std::unique_ptr<uint8_t, Free> bytes_;
};

// kStageBytes and kFetchBytes of the calling thread. Like the memory below
// allocated on first use and kept as long as the thread: fresh pages cost more
// than the copies.
inline uint8_t* StageScratch() {
  thread_local const Scratch scratch(kStageBytes + kFetchBytes);
  return scratch.get();
}

// The latter.
inline uint8_t* FetchScratch() { return StageScratch() + kStageBytes; }

// 2 * kUnpackedBytes of the calling thread.
inline uint8_t* UnpackScratch() {
  thread_local const Scratch scratch(2 * kUnpackedBytes);
  return scratch.get();
}

// kBandBytes of the calling thread.
inline uint8_t* BandScratch() {
  thread_local const Scratch scratch(kBandBytes);
  return scratch.get();
}

// kExchangeBytes of the calling thread.
inline uint8_t* ExchangeScratch() {
  thread_local const Scratch scratch(kExchangeBytes);
  return scratch.get();
}

}  // namespace axis
