// Typed contents of the Open Inference Protocol, at random.
#pragma once

#include <string>

#include "inference/infer.pb.h"
#include "tests/server/wire_oracle.h"

namespace axis {

using Contents = ::inference::InferTensorContents;

inline std::string RandomText(Rng& rng) {
  return std::string(static_cast<size_t>(Pick(rng, 6)), 'x');
}

inline Contents RandomContents(Rng& rng) {
  Contents out;
  for (int64_t n = Pick(rng, 4); n > 0; --n) {
    switch (Pick(rng, 8)) {
      case 0:
        out.add_bool_contents(Pick(rng, 2) == 0);
        break;
      case 1:
        out.add_int_contents(static_cast<int32_t>(rng()));
        break;
      case 2:
        out.add_int64_contents(static_cast<int64_t>(rng()));
        break;
      case 3:
        out.add_uint_contents(static_cast<uint32_t>(rng()));
        break;
      case 4:
        out.add_uint64_contents(rng());
        break;
      case 5:
        out.add_fp32_contents(1.5f);
        break;
      case 6:
        out.add_fp64_contents(2.5);
        break;
      default:
        out.add_bytes_contents(RandomText(rng));
    }
  }
  return out;
}

}  // namespace axis
