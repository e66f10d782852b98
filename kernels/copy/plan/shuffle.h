// Shuffles: short runs whose bytes change places, run after run.
#pragma once

#include <cstdint>

#include "kernels/copy/byte_copy.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/plan/block_plan.h"

namespace axis {

// Completes `plan` if the innermost loops of `copy` permute runs in place that
// vectors hold; returns false if they do not, or if it does not pay.
bool PlanShuffle(BlockPlan& plan, const ByteCopy& copy, int64_t total_bytes,
                 const Machine& machine);

}  // namespace axis
