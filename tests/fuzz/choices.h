// What the fuzz targets draw from the fuzzer's bytes, and how they say that a
// claim does not hold: by ending the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define FUZZ_CHECK(claim)                                                    \
  do {                                                                       \
    if (!(claim)) {                                                          \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, \
                   #claim);                                                  \
      std::abort();                                                          \
    }                                                                        \
  } while (false)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace axis::fuzz {

// Decisions, one after the other; zeros once the bytes are used up.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : next_(data), end_(data + size) {}

  bool empty() const { return next_ == end_; }
  uint8_t Byte() { return empty() ? 0 : *next_++; }

  // A number in [low, high], a span of at most 65536.
  int64_t In(int64_t low, int64_t high) {
    int64_t n = Byte();
    if (high - low > 255) n = n << 8 | Byte();
    return low + n % (high - low + 1);
  }
  bool OneIn(int64_t n) { return In(1, n) == n; }

  // Mostly small; now and then one of those that overflow something.
  int64_t Number() {
    static constexpr int64_t kOdd[] = {
        -1,        -2,        INT64_MIN,       INT64_MAX, 1ll << 31,
        1ll << 32, 1ll << 40, (1ll << 58) + 1, 1ll << 61, 1ll << 62,
        4096,      4097,      -(1ll << 31),    1ll << 60, 65536};
    const uint8_t byte = Byte();
    return byte < 240 ? byte % 24 : kOdd[byte - 240 < 15 ? byte - 240 : 0];
  }

  // All that is left, at most `size` bytes.
  std::string Rest(size_t size = SIZE_MAX) {
    const size_t left = static_cast<size_t>(end_ - next_);
    const size_t n = left < size ? left : size;
    std::string out(reinterpret_cast<const char*>(next_), n);
    next_ += n;
    return out;
  }

  // Cuts [0, size) anywhere: where each piece ends.
  std::vector<size_t> Ends(size_t size) {
    std::vector<size_t> ends;
    for (size_t at = 0; at < size && ends.size() < 64;) {
      const size_t step = static_cast<size_t>(Byte());
      at = step == 0 ? size : at + step < size ? at + step : size;
      ends.push_back(at);
    }
    if (ends.empty() || ends.back() != size) ends.push_back(size);
    return ends;
  }

 private:
  const uint8_t* next_;
  const uint8_t* end_;
};

}  // namespace axis::fuzz
