// Plans for items that are no business of registers: each is copied, or short
// ones are brought together.
#pragma once

#include <cstdint>

#include "kernels/copy/machine.h"
#include "kernels/copy/plan/block_plan.h"
#include "kernels/copy/plan/side.h"

namespace axis {

// Both complete `plan`, which has an item and its columns, if any; `loops` are
// all the others. The latter is for what IsCompact(), and for few columns of
// items that are neighbours in the source.
void PlanRows(BlockPlan& plan, Loops& loops, int64_t total_bytes,
              const Machine& machine);
void PlanCompact(BlockPlan& plan, Loops& loops, int64_t total_bytes,
                 const Machine& machine);

}  // namespace axis
