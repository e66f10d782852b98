// How a transposition goes through the caches: what of it is written past them,
// read to scratch or prefetched, and how long the runs of its blocks are.
#pragma once

#include <cstdint>

#include "kernels/copy/machine.h"
#include "kernels/copy/plan/block_plan.h"
#include "kernels/copy/plan/spacing.h"

namespace axis {

// What a transposition is like before its sides grow.
struct Transposition {
  // Of an operation that writes `total_bytes`. REQUIRES: each side of `plan`
  // has one loop.
  Transposition(const BlockPlan& plan, int64_t total_bytes,
                const Machine& machine);

  Spacing spacing;
  bool no_gaps;      // rows follow one another
  bool in_l2;        // the second cache holds what is written
  bool in_second;    // ... but the first does not
  bool past_caches;  // no cache would hold it: its lines are written past them
  bool stream;       // so, or because it pays for whole lines
};

// How long the runs of blocks are.
struct Runs {
  int64_t a_bytes;  // written
  int64_t b_bytes;  // read
};

// Decides how the lines of `t` are read and written, and how long its runs are.
Runs ChooseRuns(BlockPlan& plan, const Transposition& t);

// Decides it anew, and says so, where sides that have grown are to be read in
// whole lines: their rows may grow to the `runs` of these.
bool GrowIntoSquares(BlockPlan& plan, const Transposition& t, Runs& runs);

// Decides it anew where the runs that are written, of `run` bytes now that
// sides have grown, are put together in registers: in pairs of lines, or so
// that parts of lines become whole ones.
Runs ChooseInRegisters(BlockPlan& plan, const Transposition& t, int64_t run,
                       const Runs& runs);

}  // namespace axis
