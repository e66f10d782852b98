// Tasks: work for all the workers of the caller's TBB arena.
#pragma once

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <cstddef>
#include <cstdint>
#include <thread>

#include "kernels/copy/machine.h"
#include "kernels/handover.h"

namespace axis {

// Waking a sleeping worker takes tens of microseconds, in which one core moves
// about this much.
inline constexpr int64_t kSerialBytes = 512 << 10;

// A few tasks a worker even out what the workers lose to others.
inline constexpr int64_t kTasksPerWorker = 4;

// How many workers to engage for a copy of `bytes`.
inline int64_t WorkersFor(int64_t bytes) {
  return bytes < kSerialBytes ? 1 : tbb::this_task_arena::max_concurrency();
}

// This machine, to a copy of `bytes`.
inline Machine MachineFor(int64_t bytes) {
  Machine machine = ThisMachine();
  machine.workers = WorkersFor(bytes);
  return machine;
}

// Called between the parts of a copy, of `bytes` each: lets go of the CPU now
// and then, if another thread is owed it. The kernel would look only at its
// next tick, after up to 4 ms, however short the slices of both are.
inline void GiveWay(int64_t bytes) {
  constexpr int64_t kShareBytes = 2 << 20;  // a third of a millisecond
  thread_local int64_t moved = 0;
  moved += bytes;
  if (moved < kShareBytes) return;
  moved = 0;
  std::this_thread::yield();
}

// Calls f(i) for all i in [0, count); in parallel if they move many `bytes`.
//
// A worker that waits for the others takes up no foreign work meanwhile: a
// request must not wait for another one that is larger.
template <class Index, class F>
void ForEachTask(int64_t bytes, Index count, const F& f) {
  if (count <= 1 || WorkersFor(bytes) == 1) {
    for (Index i = 0; i < count; ++i) f(i);
    return;
  }
  static char begun, done;  // so that a task need not be read to know them
  const auto task = [&](Index i) {
    TakeOver(&begun);
    f(i);
    HandOver(&done);
  };
  HandOver(&begun);
  tbb::this_task_arena::isolate(
      [&] { tbb::parallel_for(Index{0}, count, task); });
  TakeOver(&done);
}

}  // namespace axis
