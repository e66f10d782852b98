// STRING elements, which have no width: what moves instead are the places where
// they begin, 8 bytes each. Once those lie in order the strings are gathered.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/copy/memory/buffer_pool.h"
#include "server/process/admission.h"
#include "server/wire/payload.h"

namespace axis {

// The width of a place: the offset at which a string begins, its length first.
inline constexpr int64_t kPlaceBits = 64;

// Checks that `packed` is `elements` strings, a 4-byte little-endian length and
// the bytes each, and returns their places. Brings `packed` together first if
// it lies in several pieces. Takes the memory for all that from `lease`, and
// for GatherStrings() of each place once: 8 bytes an element, and as much as
// `packed` once or twice.
// Errors: "data"  is not so many strings
absl::StatusOr<Payload> FindStrings(Payload& packed, int64_t elements,
                                    Admission::Lease& lease, BufferPool& pool);

// The strings at `places`, packed in that order; shared, not copied, if they
// lie so already.
// REQUIRES: `packed` and `places` come from FindStrings().
Payload GatherStrings(const Payload& packed, const Payload& places,
                      BufferPool& pool);

}  // namespace axis
