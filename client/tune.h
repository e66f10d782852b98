// Settings of the whole process that make large calls fast. A library must not
// make them behind a program's back; hence a function that the program calls.
#pragma once

namespace axis {

// Call this first thing in main(), before other threads and before gRPC is
// used. Three settings, which give way to those of the environment:
//
// * glibc's malloc keeps what it was given instead of returning it after every
//   call: fresh pages cost more than the copies (1.3 to 1.8 times the time of
//   a call of 1 MiB and more). The process stays as large as it ever was.
// * gRPC reads sockets in large pieces, not in 8 to 64 KiB.
// * Unix sockets hold 1 MiB of what is sent, as far as net.core.wmem_max lets
//   them: at the 208 KiB that they are born with the client sleeps and wakes
//   five times as often (streams take 1.2 to 1.3 times as long). For this,
//   connect() of a program that calls this function is axisd's.
//
// What allocations above 32 MiB cost, only the environment can change:
// GLIBC_TUNABLES=glibc.malloc.hugetlb=1.
void TuneProcess();

}  // namespace axis
