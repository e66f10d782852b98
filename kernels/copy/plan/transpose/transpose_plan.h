// Plans for transpositions: items of up to 16 bytes that are neighbours along
// one side in the source and along the other in the destination.
#pragma once

#include <cstdint>

#include "kernels/copy/machine.h"
#include "kernels/copy/plan/block_plan.h"
#include "kernels/copy/plan/side.h"

namespace axis {

// Both complete `plan`, which has an item and a loop on either side; `loops`
// are the others. What is best was measured; see tests/bench. The former is for
// short rows and columns, and returns false if those of `plan` are not.
bool PlanTogether(BlockPlan& plan, Loops& loops);
void PlanTranspose(BlockPlan& plan, Loops& loops, int64_t total_bytes,
                   const Machine& machine);

}  // namespace axis
