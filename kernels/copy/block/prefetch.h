// Prefetching: the source lines of the blocks to come, a few at a time.
#pragma once

#include <algorithm>
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

// What a kernel asks for while it reads a block in strips of kRows rows, kStep
// bytes of each at a time: the lines of as many rows that it will come to, an
// equal part with each step. All in registers: to write down where it is, and
// to call a function, took up to a third of the time between stores past the
// caches.
template <int64_t kRows, int64_t kStep>
class StripsAhead {
 public:
  // Asks for nothing.
  StripsAhead() = default;

  // Of rows that have no gaps if they are `packed`.
  StripsAhead(const uint8_t* first, bool packed)
      : is_packed_(packed), first_(first) {}

  // Comes to bytes [begin, end) of the strip from `row` on, of rows that lie
  // `pitch` apart, as those to come do.
  HWY_INLINE void Enter(int64_t row, int64_t pitch, int64_t begin,
                        int64_t end) {
    if (is_packed_) {
      // Memory is fastest from end to end, whatever the order of the strips.
      strip_ = first_ - begin * kRows;
      first_ += (end - begin) * kRows;
    } else if (first_ != nullptr) {
      strip_ = first_ + row * pitch;
    }
  }

  // With what lies `at` bytes into each row.
  HWY_INLINE void Ask(int64_t at, int64_t pitch) const {
    if (is_packed_) {
      for (int64_t i = 0; i < kLines; ++i)
        hwy::Prefetch(strip_ + at * kRows + i * kLineBytes);
    } else if (strip_ != nullptr) {
      const int64_t turn = at / kStep & (kTurns - 1);
      const uint8_t* line =
          strip_ + (at & -kLineBytes) + turn * (kLines * pitch);
      for (int64_t i = 0; i < kLines; ++i, line += pitch) hwy::Prefetch(line);
    }
  }

 private:
  // So many steps read the same lines; with each, other rows are asked for.
  static constexpr int64_t kTurns = std::max<int64_t>(1, kLineBytes / kStep);
  static constexpr int64_t kLines = kRows / kTurns;

  bool is_packed_ = false;
  const uint8_t* first_ = nullptr;  // if packed, of the next strip
  const uint8_t* strip_ = nullptr;
};

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
      : begun_(&block), after_(next), lead_(lead), next_(next) {
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

  // How far ahead of what is read lies what to ask for; 0 if there is nothing,
  // or it lies otherwise than what is read. Of a smaller block to come, what
  // follows is asked for, too.
  int64_t Distance() const {
    if (begun_ == nullptr || begun_->row_step == 0) return 0;
    if (lead_ < begun_->num_a) return lead_ * begun_->row_step;
    if (after_ == nullptr || after_->row_step != begun_->row_step) return 0;
    return after_->src + after_->rows[0] - begun_->src - begun_->rows[0];
  }

  // What to ask for with the rows from `row` on of the repetition at `src`.
  template <int64_t kRows, int64_t kStep>
  StripsAhead<kRows, kStep> Strips(const uint8_t* src, int64_t row) const {
    const int64_t distance = Distance();
    if (distance == 0) return {};
    return {src + begun_->rows[row] + distance,
            begun_->row_step == begun_->num_b * begun_->item};
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

  const Block* begun_ = nullptr;
  const Block* after_ = nullptr;
  int64_t lead_ = 0;
  const Block* block_ = nullptr;
  const Block* next_ = nullptr;
  const uint8_t* src_ = nullptr;  // of the repetition
  const uint8_t* at_ = nullptr;   // what to ask for next
  const uint8_t* end_ = nullptr;  // of its row
  int64_t t_ = 0, a_ = 0;
};

}  // namespace axis
