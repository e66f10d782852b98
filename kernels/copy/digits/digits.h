// Digits: copies whose loops are short wherever items are neighbours, as those
// of tensors of many axes are. An index into such a tensor is a number of many
// digits, of which a transposition changes the order. Nothing is long enough
// there to be cut into blocks, so the digits are dealt with: those that count
// the items of 16 bytes of the source, and those of 16 bytes of the
// destination. Vectors that differ in the latter are read, transposed in
// registers, and written as vectors that differ in the former. Where they are
// no powers of two, each vector of a run of the destination is a window: looked
// up in all vectors of the source that have some of it, or, where these are
// many, put together item by item.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "kernels/copy/byte_copy.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/plan/block_plan.h"

namespace axis {

struct Digits {
  static constexpr size_t kVector = 16;  // bytes
  static constexpr size_t kMostWindows = 16;
  static constexpr int64_t kMostPlaces = 256;

  // So many vectors are transposed at a time, a power of two; if none are,
  // there are windows.
  size_t num = 1;
  // Where they begin, relative to a place.
  std::array<int64_t, kVector> src, dst;
  // Which of its bytes each byte of a vector is before they are transposed, and
  // after it: what both sides have in a vector is next to each other meanwhile.
  std::array<uint8_t, kVector> before, after;
  bool shuffles_before, shuffles_after;  // whether any changes its place

  // A vector of the destination that is looked up in some of the source, or put
  // together of its items.
  struct Window {
    static constexpr uint8_t kNowhere = 0x80;
    static constexpr size_t kMostSources = 8;

    int64_t dst;
    bool by_items;
    std::array<int64_t, kVector> items;  // where they begin
    // Unless it is by items:
    size_t num_sources;
    std::array<int64_t, kMostSources> sources;  // where they begin
    // Where each has the bytes of the window; kNowhere if it does not.
    std::array<std::array<uint8_t, kVector>, kMostSources> places;
  };
  int64_t item;  // bytes, of windows
  size_t num_windows = 0;
  std::array<Window, kMostWindows> windows;

  // Where that is done for every index of `outer`.
  size_t num_places = 1;
  std::array<Offsets, static_cast<size_t>(kMostPlaces)> places;
  absl::InlinedVector<Loop, 8> outer;
};

// Finds the digits of `copy`; false if 16 bytes of the source or of the
// destination are not made of powers of two.
// REQUIRES: `copy` is canonical.
bool FindDigits(const ByteCopy& copy, Digits& digits);

// Which windows are worth having.
enum class Wanted : uint8_t { kNone, kLookedUp, kAny };

// Finds windows instead; false if the destination has no run of 16 bytes, or
// not such that are `wanted`.
// REQUIRES: `copy` is canonical.
bool FindWindows(const ByteCopy& copy, Wanted wanted, Digits& digits);

// Whether a copy is faster by its digits than by the blocks of `plan`.
bool AreTooSmall(const BlockPlan& plan, const Machine& machine);

// By which windows it is faster.
Wanted WindowsFor(const BlockPlan& plan, const Machine& machine);

// Carries out the copy that `digits` are of.
void MoveDigits(const Digits& digits, const uint8_t* src, uint8_t* dst);

}  // namespace axis
