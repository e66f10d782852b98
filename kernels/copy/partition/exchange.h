// Exchanges: copies that make (q, n, p) items of (p, n, q), where p and q are
// few: of a few images with channels last, as many images for each channel with
// what they were last. Taken at once, neither side has runs to speak of.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/copy/byte_copy.h"
#include "kernels/copy/machine.h"
#include "kernels/copy/partition/partition.h"

namespace axis {

struct Exchange {
  Loop images;    // p: neighbours in the destination
  Loop channels;  // q: neighbours in the source
  Loop pixels;    // n: goes on where either ends
  ByteCopy rest;  // what repeats them
};

// What `copy` exchanges, if it does and there are enough pixels.
std::optional<Exchange> FindExchange(const ByteCopy& copy);

// Whether the way by scratch is worth it, in an operation that writes
// `total_bytes`.
bool GainsFromScratch(const Exchange& exchange, int64_t total_bytes,
                      const Machine& machine);

// Carries out `move`, whose copy is `exchange`: the channels of some pixels are
// taken apart in scratch, image by image, and the images interleaved from
// there. See MoveAll() for the rest.
void MoveExchange(const Move& move, const Exchange& exchange,
                  const uint8_t* src_end, int64_t total_bytes);

}  // namespace axis
