// Transposing blocks of short columns, per SIMD target: as whole vectors that
// spill over into the next column.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "hwy/highway.h"
#include "kernels/copy/block.h"
#include "kernels/copy/block/pieces-inl.h"
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

  // Of rows that begin at row(a).
  template <class Row>
  HWY_INLINE SpillingStep(int64_t num_a, Row row) : run_(num_a * kItem) {
    for (int64_t i = 0; i < kRows; ++i) rows_[i] = row(std::min(i, num_a - 1));
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

// Transposes columns of at most kRows items. Vectors are stored whole, and what
// they spill over into is written later.
// REQUIRES: packed, and so are repetitions, or columns fill vectors.
template <int64_t kItem, int64_t kRows, int64_t kPieces>
void TransposeVectorsOf(const Block& block) {
  using Step = SpillingStep<kItem, kRows, kPieces>;
  constexpr int64_t kColumns = Step::kColumns;
  const Loop batch = block.batch;
  const int64_t num_a = block.num_a, num_b = block.num_b, run = num_a * kItem;
  const Step step(num_a, [&block](int64_t a)
                             HWY_ATTR { return block.src + block.rows[a]; });
  const int64_t steps = (num_b + kColumns - 1) / kColumns;
  const int64_t span = num_b * run;
  const int64_t pitch = batch.extent == 1 ? span : batch.dst_stride;
  // In so many repetitions a step may read and write beyond the last column.
  const int64_t whole = std::min(
      {batch.extent,
       WindowsWithin(step.BytesUntil(block.src_end), steps * Step::kRead,
                     std::max<int64_t>(1, batch.src_stride)),
       WindowsWithin((batch.extent - 1) * pitch + span,
                     span - run + Step::kBytes, pitch)});
  // Of the next one, so many columns need not.
  const int64_t some =
      kColumns * std::min(num_b / kColumns,
                          WindowsWithin((batch.extent - whole) * span,
                                        (kColumns - 1) * run + Step::kBytes,
                                        kColumns * run));
  for (int64_t t = 0; t <= whole; ++t) {
    int64_t at = t * batch.src_stride;
    uint8_t* dst = block.dst + t * pitch;
    for (int64_t left = t < whole ? num_b : some; left > 0; left -= kColumns) {
      step.Move(at, left, dst);
      at += Step::kRead;
      dst += kColumns * run;
    }
  }
  // What is left has room in scratch.
  uint8_t rows[kRows * Step::kRead], columns[kColumns * Step::kBytes];
  const Step last(
      num_a, [&rows](int64_t a) HWY_ATTR { return rows + a * Step::kRead; });
  for (int64_t t = whole; t < batch.extent; ++t) {
    const uint8_t* const src = block.src + t * batch.src_stride;
    for (int64_t b = t == whole ? some : 0; b < num_b; b += kColumns) {
      const int64_t count = std::min(kColumns, num_b - b);
      for (int64_t a = 0; a < num_a; ++a)
        CopyRun(rows + a * Step::kRead, src + block.rows[a] + b * kItem,
                count * kItem);
      last.Move(0, count, columns);
      CopyRun(block.dst + t * pitch + b * run, columns, count * run);
    }
  }
}

// The same, of the fewest rows that there is code for.
template <int64_t kItem, int64_t kRows = std::min<int64_t>(kItem < 4 ? 4 : 2,
                                                           kPieceBytes / kItem)>
void TransposeSpilling(const Block& block) {
  constexpr int64_t kItems = kPieceBytes / kItem;
  constexpr int64_t kMost = std::min(kVectorBytes, kSpillRun) / kItem;
  // Up to a piece by powers of two; then once, twice, ... as many rows of a
  // second one.
  constexpr int64_t kMore = kRows < kItems    ? 2 * kRows
                            : kRows == kItems ? kItems + 1
                                              : 2 * kRows - kItems;
  if constexpr (kRows < kMost)
    if (block.num_a > kRows) return TransposeSpilling<kItem, kMore>(block);
  if constexpr (kVectorBytes > kPieceBytes && kRows <= kItems)
    if (block.num_b > kItems) return TransposeVectorsOf<kItem, kRows, 2>(block);
  return TransposeVectorsOf<kItem, kRows, 1>(block);
}

// Copies the columns of a block from where they all follow one another.
HWY_NOINLINE inline void PutApart(const Block& block, const uint8_t* from) {
  const Loop batch = block.batch;
  const int64_t num_b = block.num_b, together = block.together;
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
  const int64_t most = kApartBytes / run, together = block.together;
  const int64_t columns = block.num_b <= most ? block.num_b
                          : together <= most  ? most / together * together
                                              : most;
  const int64_t times = std::max<int64_t>(1, kApartBytes / span);
  for (int64_t t = 0; t < batch.extent; t += times) {
    for (int64_t b = 0; b < block.num_b; b += columns) {
      Block part = block;
      part.src += t * batch.src_stride + b * kItem;
      part.dst += t * batch.dst_stride;
      part.columns += b;
      part.num_b = std::min(columns, block.num_b - b);
      part.together = std::gcd(together, columns);
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
