// Settings of the whole process that make large calls fast. A library must not
// make them behind a program's back; hence a function that the program calls.
#pragma once

namespace axis {

// Call this first thing in main(), before other threads and before gRPC is
// used. Two settings, each of which what the user has set wins over:
//
// * glibc's malloc keeps what it was given instead of returning it after every
//   call: fresh pages cost more than the copies (1.3 to 1.8 times the time of
//   a call of 1 MiB and more). The process stays as large as it ever was.
// * gRPC reads sockets in large pieces, not in 8 to 64 KiB.
//
// What allocations above 32 MiB cost, only the environment can change:
// GLIBC_TUNABLES=glibc.malloc.hugetlb=1.
void TuneProcess();

}  // namespace axis
