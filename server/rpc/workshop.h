// What calls work with, whatever service they belong to.
#pragma once

#include <tbb/task_arena.h>

#include <cstdint>

#include "kernels/copy/memory/buffer_pool.h"
#include "server/call/recipe.h"
#include "server/guard/guard.h"
#include "server/process/admission.h"
#include "server/process/log.h"
#include "server/process/metrics.h"
#include "server/queue/event.h"
#include "server/rpc/turns.h"

namespace axis {

// All of it must outlive the calls.
struct Workshop {
  Admission& admission;
  const Guard& guard;
  BufferPool& pool;
  RecipeBook& recipes;
  Metrics& metrics;
  LiveCalls& live_calls;
  const Log& log;
  OncePerSecond& refusals;    // that are logged
  OncePerSecond& slow;        // calls that are
  tbb::task_arena& arena;     // streams compute here, one thread each
  Turns& turns;               // and large calls, in turn; small ones inline
  int64_t max_message_bytes;  // of a request or a response
  bool access_log;            // a line for every call
  absl::Duration log_slower_than;
};

}  // namespace axis
