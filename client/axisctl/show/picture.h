// Draws small tensors of numbered elements, as text and as SVG. The last axis
// goes right, the one before it down, the next right again, and so on, every
// further pair with a wider gap; an element keeps its colour wherever it goes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace axis {

// A row-major tensor whose elements are the numbers of where they came from.
struct Numbered {
  std::vector<int64_t> shape;
  std::vector<int64_t> numbers;
};

// `tensors`: what there was before, and then what came of it.
// REQUIRES: at least one tensor; as many numbers as each shape holds
std::string DrawText(absl::Span<const Numbered> tensors, bool colours);
std::string DrawSvg(absl::Span<const Numbered> tensors);

}  // namespace axis
