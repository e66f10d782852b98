// The host: what axisd asks of, and learns from, the machine it runs on.
#pragma once

#include <cstdint>

namespace axis {

// Sets what must be set before the first allocation, the first other thread and
// the first use of gRPC.
// Call first thing in main(), while there is one thread.
void PrepareProcess();

// How many threads can run at a time: the CPUs of the affinity mask, or fewer
// if a cgroup (v1 or v2) of this process has a smaller quota, rounded up.
// oneTBB before 2023 knows nothing of quotas.
int AvailableCpus();

// Lets this process open `most` files, or as many as it may if that is less.
void LimitFiles(int64_t most);

// How many that is; of those who never asked, what the system set.
int64_t FileLimit();

// Gives free heap memory back to the system. Takes milliseconds.
void ReleaseFreeMemory();

// The resident memory of this process, in bytes.
int64_t ResidentBytes();

// The open file descriptors of this process.
int64_t OpenFiles();

}  // namespace axis
