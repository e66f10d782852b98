// Prefetching: the source lines of the blocks to come, a few at a time.
#pragma once

#include <cstdint>

#include "hwy/base.h"
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
// behind them; kernels therefore ask for a few with each step, so often that
// asking must cost next to nothing.
class Prefetcher {
 public:
  // Asks for nothing.
  Prefetcher() = default;

  // Begins `lead` rows into `block`, and goes on with `next` if there is one.
  Prefetcher(const Block& block, const Block* next, int64_t lead)
      : next_(next) {
    if (lead < block.num_a) {
      Enter(block, lead);
    } else {
      EnterNext();
    }
  }

  // Whether there is anything left to ask for.
  bool has_block() const { return block_ != nullptr; }

  // How many lines to ask for with each `items` of `rows` rows of `block`; 0 if
  // there is nothing to ask for.
  int64_t Pace(const Block& block, int64_t rows, int64_t items) const {
    if (!has_block()) return 0;
    const int64_t steps = (block.num_b + items - 1) / items;
    const int64_t lines = PrefetchLines(rows, block.num_b * block.item);
    return (lines + steps - 1) / steps;
  }

  HWY_NOINLINE void Prefetch(int64_t lines) {
    if (block_ == nullptr) return;
    // Not the members: they would be written and read again for each line.
    const uint8_t* at = at_;
    const uint8_t* end = end_;
    for (; lines > 0; --lines) {
      hwy::Prefetch(at);
      at += kLineBytes;
      if (at < end) continue;
      if (!NextRow(at - kLineBytes)) return;
      at = at_;
      end = end_;
    }
    at_ = at;
  }

 private:
  void Enter(const Block& block, int64_t row) {
    block_ = &block;
    src_ = block.src;
    t_ = 0;
    EnterRow(row);
  }

  bool EnterNext() {
    block_ = next_;
    next_ = nullptr;
    if (block_ == nullptr) return false;
    Enter(*block_, 0);
    return true;
  }

  // Rows without gaps are one: to go on to the next takes longer than to ask.
  void EnterRow(int64_t row) {
    const int64_t run = block_->num_b * block_->item;
    a_ = block_->row_step == run ? block_->num_a - 1 : row;
    at_ = src_ + block_->rows[row];
    end_ = at_ + (a_ - row + 1) * run;
  }

  // Goes on to a row that begins in another line than `last`: several may
  // share one. False if there is none.
  bool NextRow(const uint8_t* last) {
    do {
      if (a_ + 1 < block_->num_a) {
        EnterRow(a_ + 1);
      } else if (++t_ < block_->batch.extent) {
        src_ += block_->batch.src_stride;
        EnterRow(0);
      } else if (!EnterNext()) {
        return false;
      }
    } while (LineOf(at_) == LineOf(last));
    return true;
  }

  static uintptr_t LineOf(const uint8_t* at) {
    return reinterpret_cast<uintptr_t>(at) / kLineBytes;
  }

  const Block* block_ = nullptr;
  const Block* next_ = nullptr;
  const uint8_t* src_ = nullptr;  // of the repetition
  const uint8_t* at_ = nullptr;   // what to ask for next
  const uint8_t* end_ = nullptr;  // of its row
  int64_t t_ = 0, a_ = 0;
};

}  // namespace axis
