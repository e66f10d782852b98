// Scratch memory: where blocks rest between source and destination.
#pragma once

#include <cstdint>

namespace axis {

inline constexpr int64_t kStageBytes = 512 << 10;
inline constexpr int64_t kGatherBytes = 256 << 10;
inline constexpr int64_t kUnpackedBytes = 384 << 10;

// Memory of the calling thread, aligned to pages. Allocated on first use and
// kept as long as the thread: fresh pages would cost more than the copies.
uint8_t* StageScratch();   // kStageBytes
uint8_t* GatherScratch();  // kGatherBytes
uint8_t* UnpackScratch();  // 2 * kUnpackedBytes

}  // namespace axis
