// What must be held of the outputs while the input comes in order.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/program.h"

namespace axis {

// What one plan writes of the outputs laid end to end, and what it reads.
struct Stretch {
  const Plan* plan;   // null if the output is empty
  int64_t dst_begin;  // bytes, as all of these
  int64_t dst_end;
  int64_t src_begin;
  int64_t src_end;
};

// The outputs of `program`, in order.
// REQUIRES: it has at most one pass, from its only input.
std::vector<Stretch> Stretches(const Program& program);

// Whether the outputs end to end are the input.
bool IsIdentity(const std::vector<Stretch>& outputs);

// Outputs that a part of the input of their own fills, which lies after those
// of the outputs before. Units are taken to come one after the other.
struct Group {
  int64_t src_begin;  // bytes, as all of these
  int64_t src_end;
  int64_t dst_begin;
  int64_t dst_end;
  // The most there ever is from the first byte not yet written to the last one
  // written, the next unit included.
  int64_t window;
  // Its input comes in so many steps, each of which fills as large a step of
  // the outputs; the last step of the input may be shorter.
  int64_t steps;
  int64_t src_step;
  int64_t dst_step;
};
std::vector<Group> GroupsOf(const std::vector<Stretch>& outputs);

// The largest window of any group.
int64_t WindowOf(const std::vector<Group>& groups);

// Bytes [dst_begin, dst_end) of the outputs. The input from where that of the
// segment before ends up to src_end fills them, and goes nowhere else.
struct Segment {
  int64_t src_end;
  int64_t dst_begin;
  int64_t dst_end;
};

// Cuts outputs into segments.
class Segments {
 public:
  explicit Segments(std::vector<Group> groups) : groups_(std::move(groups)) {}

  // The next segment: as many steps as make up to `bytes`, at least one. Empty
  // after the last one.
  Segment Next(int64_t bytes);

  const std::vector<Group>& groups() const { return groups_; }

 private:
  const std::vector<Group> groups_;
  size_t group_ = 0;  // what comes next
  int64_t step_ = 0;
  int64_t at_ = 0;
};

}  // namespace axis
