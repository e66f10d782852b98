// Random copies, and what they must do: the oracle of the engine's tests.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "kernels/plan.h"
#include "kernels/view.h"

namespace axis::testing {

// Memory as the engine sees it.
inline const uint8_t* Bytes(const std::byte* p) {
  return reinterpret_cast<const uint8_t*>(p);
}
inline uint8_t* Bytes(std::byte* p) { return reinterpret_cast<uint8_t*>(p); }

// Memory between two pages that nobody may touch: a byte read or written
// outside of it is a crash.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(size_t bytes)
      : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))),
        size_((bytes + page_ - 1) / page_ * page_) {
    void* memory = mmap(nullptr, size_ + 2 * page_, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    begin_ = static_cast<std::byte*>(memory) + page_;
    mprotect(begin_, size_, PROT_READ | PROT_WRITE);
  }
  ~GuardedBuffer() { munmap(begin_ - page_, size_ + 2 * page_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  size_t size() const { return size_; }
  // `bytes` that end where the memory ends.
  std::byte* Last(size_t bytes) const { return begin_ + size_ - bytes; }
  // The memory from `skip` bytes after its begin on.
  std::byte* From(size_t skip) const { return begin_ + skip; }

 private:
  size_t page_;
  size_t size_;
  std::byte* begin_;
};

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // A number in [low, high].
  int64_t In(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  bool OneIn(int64_t n) { return In(1, n) == 1; }
  template <class T>
  const T& Of(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(
        In(0, static_cast<int64_t>(choices.size()) - 1))];
  }
  std::vector<int64_t> Order(size_t n) {
    std::vector<int64_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), engine_);
    return order;
  }
  void Fill(std::byte* data, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 8) {
      const uint64_t word = engine_();
      std::memcpy(data + i, &word, std::min<size_t>(8, bytes - i));
    }
  }

 private:
  std::mt19937_64 engine_;
};

// The offsets of all elements of `view`, in row-major order.
inline std::vector<int64_t> Offsets(const View& view) {
  std::vector<int64_t> offsets = {view.offset};
  for (const Mode& mode : view.modes) {
    std::vector<int64_t> next;
    next.reserve(offsets.size() * static_cast<size_t>(mode.extent));
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < mode.extent; ++i)
        next.push_back(offset + i * mode.stride);
    offsets = std::move(next);
  }
  return offsets;
}

// One element narrower than a byte, `index` elements after the first, stored
// as API.md has it: 4-bit elements fill a byte from the low end, 1- and 2-bit
// ones from the high end; of each group of 3 bytes of 3- or 6-bit elements,
// the last holds the high bits of all, the others the low bits.
class NarrowElement {
 public:
  NarrowElement(int64_t bits, int64_t index) {
    if (bits == 3 || bits == 6) {
      const int64_t low_bits = bits == 3 ? 2 : 4, high_bits = bits - low_bits;
      const int64_t per_group = 24 / bits, per_byte = 8 / low_bits;
      const int64_t base = index / per_group * 3, k = index % per_group;
      low_ = {base + k / per_byte, 8 - low_bits * (k % per_byte + 1), low_bits};
      high_ = {base + 2, 8 - high_bits * (k + 1), high_bits};
    } else {
      const int64_t at = index * bits % 8;
      low_ = {index * bits / 8, bits == 4 ? at : 8 - bits - at, bits};
    }
  }

  unsigned Get(const std::byte* data) const {
    return low_.Get(data) | high_.Get(data) << low_.bits;
  }
  // REQUIRES: the bits are zero so far.
  void Put(std::byte* data, unsigned value) const {
    low_.Put(data, value);
    high_.Put(data, value >> low_.bits);
  }

 private:
  struct Field {
    int64_t byte = 0, shift = 0, bits = 0;
    unsigned Get(const std::byte* data) const {
      return bits == 0 ? 0
                       : std::to_integer<unsigned>(data[byte]) >> shift &
                             ((1u << bits) - 1);
    }
    void Put(std::byte* data, unsigned value) const {
      if (bits != 0)
        data[byte] |= std::byte((value & ((1u << bits) - 1)) << shift);
    }
  };
  Field low_, high_;
};

// Copies the elements of `src` to the places of `dst`, one by one. Narrow
// elements only OR their bits: what was there must be zero.
inline void CopyElements(const View& src_view, const View& dst_view,
                         int64_t bits, const std::byte* src, std::byte* dst) {
  const std::vector<int64_t> from = Offsets(src_view), to = Offsets(dst_view);
  for (size_t i = 0; i < from.size(); ++i) {
    if (bits % 8 == 0) {
      std::memcpy(dst + to[i] * (bits / 8), src + from[i] * (bits / 8),
                  static_cast<size_t>(bits / 8));
    } else {
      NarrowElement(bits, to[i])
          .Put(dst, NarrowElement(bits, from[i]).Get(src));
    }
  }
}

// A random shape of at most `elements`; sizes of interest to vectors of any
// width are likelier than others.
inline Shape RandomShape(Random& random, int64_t elements) {
  static const std::vector<int64_t> kExtents = {
      1,  2,  2,  3,  3,  4,  5,  6,  7,  8,  8,  9,   12,  13,  15,  16,
      16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, 255, 256, 257};
  Shape shape;
  const int64_t rank = random.In(1, random.OneIn(8) ? 12 : 6);
  int64_t left = elements;
  for (int64_t i = 0; i < rank; ++i) {
    shape.push_back(std::min(
        left, random.OneIn(4) ? random.In(1, 70) : random.Of(kExtents)));
    left = std::max<int64_t>(1, left / shape.back());
  }
  std::vector<int64_t> order = random.Order(shape.size());
  Shape shuffled;
  for (int64_t i : order) shuffled.push_back(shape[static_cast<size_t>(i)]);
  return shuffled;
}

// What chains of ops make of a dense tensor: splits, merges, cuts and
// permutations.
inline View RandomView(Random& random, const Shape& shape) {
  View view = Dense(shape);
  for (int64_t steps = random.In(1, 3); steps > 0; --steps) {
    const size_t rank = view.rank();
    const size_t axis =
        static_cast<size_t>(random.In(0, static_cast<int64_t>(rank) - 1));
    const int64_t extent = ShapeOf(view)[axis];
    if (random.OneIn(3)) {
      const int64_t keep = random.In(1, extent);
      if (auto cut = Slice(view, axis, random.In(0, extent - keep), keep))
        view = *cut;
    } else if (random.OneIn(2)) {
      int64_t group = random.In(1, std::min<int64_t>(extent, 16));
      while (extent % group != 0) --group;
      if (auto split = Split(view, axis, group)) view = *split;
    }
    view = Permute(view, random.Order(view.rank()));
    if (view.rank() > 1 && random.OneIn(4)) view = Merge(view, 0);
  }
  return view;
}

// A layout of `shape` with its axes in any order and gaps between them.
inline View RandomLayout(Random& random, const Shape& shape) {
  View view = Dense(shape);
  view.offset = random.In(0, 5);
  int64_t stride = random.OneIn(3) ? random.In(1, 3) : 1;
  for (int64_t i : random.Order(shape.size())) {
    const size_t axis = static_cast<size_t>(i);
    view.modes[axis].stride = stride;
    stride *= shape[axis];
    if (random.OneIn(4)) stride += random.In(1, 9);
  }
  return view;
}

// How many elements a buffer needs to hold all those of `view`.
inline int64_t Reach(const View& view) {
  int64_t reach = view.offset + 1;
  for (const Mode& mode : view.modes) reach += (mode.extent - 1) * mode.stride;
  return reach;
}

}  // namespace axis::testing
