// The models that are always there: each op as one.
#pragma once

#include <memory>
#include <vector>

#include "server/models/model.h"

namespace axis {

// Transpose, ShuffleChannels, VariadicSplit, Split and Shuffle.
std::vector<std::unique_ptr<Model>> BuiltinModels();

}  // namespace axis
