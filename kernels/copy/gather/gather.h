// Gathers: runs of the destination whose items lie far apart in the source, as
// those of blocks do that do not nest. Each vector of the destination is looked
// up in all the vectors of the source that hold some of it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "absl/container/inlined_vector.h"
#include "kernels/copy/block.h"
#include "kernels/copy/byte_copy.h"
#include "kernels/plan.h"

namespace axis {

struct GatherPlan {
  // What a vector of the destination is made of.
  struct Window {
    static constexpr uint8_t kNowhere = 0xff;

    int64_t dst;          // where it begins
    int64_t width;        // bytes of each repetition that are written
    int64_t reach;        // where the last of its sources begins
    size_t first_source;  // of GatherPlan::sources
    size_t num_sources;
    // Byte i is byte place[i] of its source from[i], if that is not kNowhere.
    std::array<uint8_t, kLineBytes> from, place;
  };
  int64_t vector = 0;  // bytes
  // The innermost loop; a window holds so many of its indices.
  Loop inner = {1, 0, 0};
  int64_t repeat = 1;
  absl::InlinedVector<Loop, 8> outer;
  absl::InlinedVector<Window, 4> windows;
  absl::InlinedVector<int64_t, 32> sources;  // where vectors begin
};

// Carries out `copy` at each of `places`, in parallel in the TBB arena of the
// caller. Reads nothing from `src_end` on.
void MoveGather(const ByteCopy& copy, std::span<const Plan::Place> places,
                const uint8_t* src, const uint8_t* src_end, uint8_t* dst);

// The indices of plan.inner from `begin` to `end`, at least plan.repeat.
void MoveWindows(const GatherPlan& plan, int64_t begin, int64_t end,
                 bool stream, const uint8_t* src, const uint8_t* src_end,
                 uint8_t* dst);

}  // namespace axis
