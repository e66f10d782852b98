// Prefetching: the source lines of the blocks to come, a few at a time.
#pragma once

#include <cstdint>

#include "hwy/cache_control.h"
#include "kernels/copy/block.h"

namespace axis {

// How many lines hold `rows` rows of `bytes`, as far as it matters here.
constexpr int64_t PrefetchLines(int64_t rows, int64_t bytes) {
  return bytes < kLineBytes ? (rows * bytes + kLineBytes - 1) / kLineBytes
                            : rows * ((bytes + kLineBytes - 1) / kLineBytes);
}

// Runs ahead of a kernel through the rows it reads: rows of side A, side B
// long. All at once the lines would have to queue, and whatever comes next
// behind them; kernels therefore ask for a few with each step.
class Prefetcher {
 public:
  // Asks for nothing.
  Prefetcher() = default;

  // Begins `lead` rows into `block`, and goes on with `next` if there is one.
  Prefetcher(const Block& block, const Block* next, int64_t lead)
      : block_(&block), next_(next), a_(lead) {
    if (a_ >= block.num_a) GoOn();
  }

  // Whether there is anything left to ask for.
  bool has_block() const { return block_ != nullptr; }

  HWY_NOINLINE void Prefetch(int64_t lines) {
    while (lines > 0 && block_ != nullptr) {
      const uint8_t* at = block_->src + t_ * block_->batch.src_stride +
                          block_->rows[a_] + offset_;
      // Rows may be shorter than a line.
      if (at < last_ || at >= last_ + kLineBytes) {
        last_ = at;
        hwy::Prefetch(at);
        --lines;
      }
      if ((offset_ += kLineBytes) < block_->num_b * block_->item) continue;
      offset_ = 0;
      if (++a_ < block_->num_a) continue;
      a_ = 0;
      if (++t_ == block_->batch.extent) GoOn();
    }
  }

 private:
  void GoOn() {
    block_ = next_;
    next_ = nullptr;
    t_ = a_ = 0;
  }

  const Block* block_ = nullptr;
  const Block* next_ = nullptr;
  const uint8_t* last_ = nullptr;
  int64_t t_ = 0, a_ = 0, offset_ = 0;
};

}  // namespace axis
