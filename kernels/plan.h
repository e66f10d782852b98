// Plans: one strided copy, reduced to its essential loops.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "kernels/view.h"

namespace axis {

// `extent` runs that lie `src_stride` bits apart in the source and
// `dst_stride` bits apart in the destination.
struct Loop {
  int64_t extent;
  int64_t src_stride;
  int64_t dst_stride;

  friend bool operator==(const Loop&, const Loop&) = default;
};

// Copies `run` contiguous bits for every index of `loops`.
//
// Everything counts bits, so that elements narrower than a byte need no second
// kind of plan. Where a plan is whole bytes throughout, as it is for all wider
// types and for many narrow ones, it is a byte copy.
//
// CompilePlan() guarantees, and tests/kernels/plan_test.cc checks:
//  * no loop has extent 1, and no two adjacent loops can be fused;
//  * loops are sorted by `dst_stride`, largest first;
//  * `run` is as large as the arrangement allows; hence
//  * a Plan without loops is one contiguous run.
// Two views with equal plans move the same bits in the same manner, so tests
// and benchmarks need to cover plans, not ops.
struct Plan {
  // A run among many that lie in no even distance from one another: bits from
  // the offsets below.
  struct Place {
    int64_t src, dst;

    friend bool operator==(const Place&, const Place&) = default;
  };

  int64_t item_bits = 8;   // the width of an element
  int64_t src_offset = 0;  // bits
  int64_t dst_offset = 0;  // bits
  int64_t run = 0;         // bits, contiguous on both sides; 0 if none to copy
  absl::InlinedVector<Loop, 8> loops;  // outermost of the destination first
  // If there are any, the run is copied to each, for every index of the loops:
  // one element of 1 to 16 whole bytes. In the order of the destination.
  std::vector<Place> places;

  friend bool operator==(const Plan&, const Plan&) = default;
};

// The bytes that only move as one: an element of whole bytes, one byte of 1-,
// 2- and 4-bit elements, a group of 3 bytes of 3- and 6-bit ones.
constexpr int64_t UnitBytes(int64_t item_bits) {
  if (item_bits % 8 == 0) return item_bits / 8;
  return item_bits % 3 == 0 ? 3 : 1;
}

// Whether `plan` moves whole units to whole units: it then is a copy of bytes,
// and can be cut between any two of them.
bool IsWholeUnits(const Plan& plan);

// How many bits of its destination `plan` writes.
int64_t BitsOf(const Plan& plan);

// Whether all `dst_bytes` of the destination of `plan` are a run of whole
// storage units of its source, so that sharing the memory does instead of
// copying it. Never where the destination has padding, which must be zero.
bool IsSlice(const Plan& plan, int64_t dst_bytes);

// The bytes that `elements` packed elements of `item_bits` take: whole bytes,
// and for 3- and 6-bit elements whole groups of 3 bytes.
// REQUIRES: the result fits 63 bits.
int64_t PackedBytes(int64_t elements, int64_t item_bits);

// The bytes that a tensor takes when it is stored with `layout`, padding
// included; nullopt if they do not fit 63 bits. Extents of 0 decide nothing
// about that.
// REQUIRES: layout == kRowMajor, or rank >= 2 and elements of whole bytes.
std::optional<int64_t> StoredBytes(std::span<const int64_t> shape,
                                   Layout layout, int64_t item_bits);

// The copy that lays out `src` as `dst`: views of the same shape, of elements
// `item_bits` wide. Returns nullopt if their axes are cut in ways that do not
// nest; a Dense() destination always works.
std::optional<Plan> CompilePlan(const View& src, const View& dst,
                                int64_t item_bits);

// The copy that lays out each view of `src` as that of `dst`, which follow one
// another, as places; nullopt if they do not nest, differ in more than where
// they begin, or are not of single elements of 1, 2, 4, 8 or 16 bytes.
// REQUIRES: as many of the one as of the other, at least one; not empty.
std::optional<Plan> CompilePlan(std::span<const View> src,
                                std::span<const View> dst, int64_t item_bits);

// The copy that lays out `src` densely in row-major order.
Plan CompilePlan(const View& src, int64_t item_bits);

// Calls f(part) with plans that together do what `plan` does for the items that
// lie within bits [begin, end) of its source: a handful, two for each loop at
// most and one. With it a source can be copied from piece by piece, as the
// pieces come or where they lie.
// REQUIRES: begin and end are multiples of plan.item_bits; no plan.places.
void ForEachPart(const Plan& plan, int64_t begin, int64_t end,
                 absl::FunctionRef<void(const Plan& part)> f);

}  // namespace axis
