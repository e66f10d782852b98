// Transposing blocks of short columns that are packed, per SIMD target.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/pieces-inl.h"
#include "kernels/copy/block/rows-inl.h"
#include "kernels/copy/block/runs-inl.h"

#if defined(AXIS_BLOCK_SPILL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AXIS_BLOCK_SPILL_INL_H_
#undef AXIS_BLOCK_SPILL_INL_H_
#else
#define AXIS_BLOCK_SPILL_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace axis {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

// A step: kPieces pieces of at most kRows rows become columns. Where rows are
// so few that a block of a vector holds several columns, these are moved
// together.
template <int64_t kItem, int64_t kRows, int64_t kPieces>
class SpillingStep {
 public:
  static constexpr int64_t kItems = kPieceBytes / kItem;
  static constexpr int64_t kRead = kPieces * kPieceBytes;  // of each row
  static constexpr int64_t kColumns = kPieces * kItems;
  // What a store writes.
  static constexpr int64_t kBytes =
      kRows > kItems ? 2 * kPieceBytes : kPieceBytes;

  explicit HWY_INLINE SpillingStep(const Block& block)
      : run_(block.num_a * kItem) {
    for (int64_t i = 0; i < kRows; ++i)
      rows_[i] = block.src + block.rows[std::min(i, block.num_a - 1)];
    alignas(kPieceBytes) uint8_t places[kPieceBytes] = {};
    if (kTogether > 1)
      for (int64_t i = 0; i < kTogether * run_; ++i)
        places[i] = static_cast<uint8_t>(i / run_ * kRows * kItem + i % run_);
    places_ = hn::LoadDup128(Bytes(), places);
  }

  // How many bytes there are from each row on, up to `end`.
  int64_t BytesUntil(const uint8_t* end) const {
    return end - *std::max_element(rows_, rows_ + kRows);
  }

  // Stores the first `left` of the columns that begin `at` bytes into the rows.
  HWY_INLINE void Move(int64_t at, int64_t left, uint8_t* dst) const {
    const D d;
    auto row = [at, this](int64_t i) HWY_ATTR { return rows_[i] + at; };
    hn::Vec<D> x[kVectors];
    HWY_UNROLL(16)
    for (int64_t i = 0; i < kVectors; ++i) {
      if constexpr (kRows <= kItems) {
        x[i] = LoadAt(d, row(i));
      } else {
        // Rows of a second piece are inserted only where there may be any:
        // that is most of the work.
        x[i] = kItems + i < kRows
                   ? LoadPieces<kBytes, kItem>(row, i, kItems)
                   : hn::ZeroExtendVector(d, LoadAt(Piece(), row(i)));
      }
    }
    TransposeBlocks(d, x);
    if constexpr (kTogether > 1) {
      HWY_UNROLL(16)
      for (int64_t i = 0; i < kVectors; ++i)
        x[i] = hn::BitCast(
            d, hn::TableLookupBytes(hn::BitCast(Bytes(), x[i]), places_));
    }
    HWY_UNROLL(16)
    for (int64_t i = 0; i < kVectors; ++i) {
      if (i * kTogether >= left) return;
      if constexpr (kPieces == 1) {
        StoreAt(x[i], d, dst);
      } else {
        StoreAt(hn::LowerHalf(Piece(), x[i]), Piece(), dst);
      }
      dst += kTogether * run_;
    }
    if constexpr (kPieces > 1) {
      HWY_UNROLL(16)
      for (int64_t i = 0; i < kVectors; ++i) {
        if (kItems + i * kTogether >= left) return;
        StoreAt(hn::UpperHalf(Piece(), x[i]), Piece(), dst);
        dst += kTogether * run_;
      }
    }
  }

 private:
  static_assert(kPieces <= 2 && (kPieces == 1 || kRows <= kItems));
  static constexpr int64_t kVectors = std::min(kRows, kItems);
  static constexpr int64_t kTogether = kItems / kVectors;
  static constexpr int64_t kVector = std::max(kBytes, kRead);

  using D = VectorOf<kVector, kItem>;
  using Piece = VectorOf<kPieceBytes, kItem>;
  using Bytes = VectorOf<kVector, 1>;

  const int64_t run_;
  const uint8_t* rows_[kRows];
  hn::Vec<Bytes> places_;
};

// Transposes columns of at most kRows items; returns the number of columns, of
// all repetitions. It stops where the source ends too soon for vectors.
// REQUIRES: repetitions follow one another, or columns fill vectors.
template <int64_t kItem, int64_t kRows, int64_t kPieces>
int64_t TransposeVectorsOf(const Block& block) {
  using Step = SpillingStep<kItem, kRows, kPieces>;
  constexpr int64_t kColumns = Step::kColumns;
  const Step step(block);
  const Loop batch = block.batch;
  const int64_t num_b = block.num_b, run = block.num_a * kItem;
  const int64_t steps = (num_b + kColumns - 1) / kColumns;
  const int64_t span = num_b * run;
  const int64_t pitch = batch.extent == 1 ? span : batch.dst_stride;
  const int64_t bytes = (batch.extent - 1) * pitch + span;
  // In so many repetitions the last step may read beyond the rows, and in so
  // many of these write beyond the columns.
  const int64_t reads = std::min(
      batch.extent,
      WindowsWithin(step.BytesUntil(block.src_end), steps * Step::kRead,
                    std::max<int64_t>(1, batch.src_stride)));
  const int64_t writes =
      std::min(reads, WindowsWithin(bytes, span - run + Step::kBytes, pitch));
  // Of the next one, so many columns do neither.
  const int64_t some =
      kColumns * std::min(num_b / kColumns,
                          WindowsWithin((batch.extent - writes) * span,
                                        (kColumns - 1) * run + Step::kBytes,
                                        kColumns * run));
  for (int64_t t = 0; t <= writes; ++t) {
    int64_t at = t * batch.src_stride;
    uint8_t* dst = block.dst + t * pitch;
    for (int64_t left = t < writes ? num_b : some; left > 0; left -= kColumns) {
      step.Move(at, left, dst);
      at += Step::kRead;
      dst += kColumns * run;
    }
  }
  // Whatever would go beyond the end has room in scratch. If rows end too soon
  // for the last columns, some before them are moved once more.
  for (int64_t t = writes; t < batch.extent; ++t) {
    const bool within = t >= reads;
    if (within && num_b < kColumns) return t * num_b;
    int64_t b = t == writes ? some : 0;
    uint8_t* dst = block.dst + t * pitch + b * run;
    for (; b < num_b; b += kColumns, dst += kColumns * run) {
      const int64_t first = within ? std::min(b, num_b - kColumns) : b;
      const int64_t end = std::min(num_b, first + kColumns);
      uint8_t scratch[kColumns * Step::kBytes];
      step.Move(t * batch.src_stride + first * kItem, end - first, scratch);
      CopyRun(dst, scratch + (b - first) * run, (end - b) * run);
    }
  }
  return batch.extent * num_b;
}

// The same, of the fewest rows that there is code for.
template <int64_t kItem, int64_t kRows = std::min<int64_t>(kItem < 4 ? 4 : 2,
                                                           kPieceBytes / kItem)>
int64_t TransposeVectors(const Block& block) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  constexpr int64_t kMost = std::min(kVectorBytes, kSpillRun) / kItem;
  // Up to a piece by powers of two; then once, twice, ... as many rows of a
  // second one.
  constexpr int64_t kMore = kRows < kItems    ? 2 * kRows
                            : kRows == kItems ? kItems + 1
                                              : 2 * kRows - kItems;
  if constexpr (kRows < kMost)
    if (block.num_a > kRows) return TransposeVectors<kItem, kMore>(block);
  if constexpr (kVectorBytes > kPieceBytes && kRows <= kItems)
    if (block.num_b > kItems) return TransposeVectorsOf<kItem, kRows, 2>(block);
  return TransposeVectorsOf<kItem, kRows, 1>(block);
}

// Vectors are stored whole, and what they spill over into is written later.
// REQUIRES: as TransposeVectorsOf().
template <int64_t kItem>
void TransposeSpilling(const Block& block) {
  const int64_t num_a = block.num_a, num_b = block.num_b;
  const Loop batch = block.batch;
  const int64_t done = TransposeVectors<kItem>(block);
  for (int64_t t = done / num_b; t < batch.extent; ++t) {
    uint8_t* dst = block.dst + t * batch.dst_stride;
    for (int64_t b = 0; b < num_b; ++b)
      for (int64_t a = 0; a < num_a; ++a, dst += kItem)
        CopyFixed<kItem>(
            dst, block.src + t * batch.src_stride + block.rows[a] + b * kItem);
  }
}

// How many columns of `block`, from every such multiple on, follow one another.
inline int64_t ColumnsTogether(const Block& block) {
  if (block.packed) return block.num_b;
  const int64_t run = block.num_a * block.item;
  int64_t together = block.num_b;
  for (int64_t b = 1; b < block.num_b && together > 1; ++b)
    if (block.columns[b] - block.columns[b - 1] != run)
      together = std::gcd(together, b);
  return together;
}

// Copies the columns of a block from where they all follow one another.
HWY_NOINLINE inline void PutApart(const Block& block, const uint8_t* from) {
  const Loop batch = block.batch;
  const int64_t num_b = block.num_b, together = ColumnsTogether(block);
  const int64_t run = block.num_a * block.item * together;
  const int64_t* const columns = block.columns;
  uint8_t* const dst = block.dst;
  WithCopier(run, [=](auto copy) HWY_ATTR {
    const uint8_t* next = from;
    for (int64_t t = 0; t < batch.extent; ++t) {
      uint8_t* const to = dst + t * batch.dst_stride;
      for (int64_t b = 0; b < num_b; b += together, next += run)
        copy(to + columns[b], next);
    }
  });
}

// So much of what lies apart is put together first.
inline constexpr int64_t kApartBytes = 4096;

// Transposes columns that are short: where they, or their repetitions, do not
// follow one another, by way of memory where they do.
// REQUIRES: num_a * kItem <= min(kVectorBytes, kSpillRun).
template <int64_t kItem>
void TransposeShortColumns(const Block& block) {
  const Loop batch = block.batch;
  const int64_t run = block.num_a * kItem, span = block.num_b * run;
  const bool fill = run == kPieceBytes || run == 2 * kPieceBytes;
  if (block.packed && (fill || batch.extent == 1 || batch.dst_stride == span))
    return TransposeSpilling<kItem>(block);
  // Repetitions that are long are put together where they belong.
  if (block.packed && span >= kApartBytes / 4) {
    Block one = block;
    one.batch.extent = 1;
    for (int64_t t = 0; t < batch.extent; ++t) {
      TransposeSpilling<kItem>(one);
      one.src += batch.src_stride;
      one.dst += batch.dst_stride;
    }
    return;
  }
  const int64_t columns = std::min(block.num_b, kApartBytes / run);
  const int64_t times = std::max<int64_t>(1, kApartBytes / span);
  for (int64_t t = 0; t < batch.extent; t += times) {
    for (int64_t b = 0; b < block.num_b; b += columns) {
      Block part = block;
      part.src += t * batch.src_stride + b * kItem;
      part.dst += t * batch.dst_stride;
      part.columns += b;
      part.num_b = std::min(columns, block.num_b - b);
      part.batch.extent = std::min(times, batch.extent - t);
      uint8_t scratch[kApartBytes];
      Block packed = part;
      packed.dst = scratch;
      packed.batch.dst_stride = part.num_b * run;
      TransposeSpilling<kItem>(packed);
      PutApart(part, scratch);
    }
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace axis
HWY_AFTER_NAMESPACE();

#endif  // include guard
