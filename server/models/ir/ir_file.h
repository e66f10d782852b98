// OpenVINO IR: an .xml whose layers are our ops, with its .bin, as a model.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/models/model.h"

namespace axis {

// Takes the layers Parameter, Const, Transpose, ShuffleChannels, VariadicSplit,
// Split and Result. Inputs and outputs are called by the first of the `names`
// of their port, or else by their layer. What the ops need beside their data
// comes from Const layers. The model is called by the file: "a" for "a.xml".
//
// Reads what `path` says and believes nothing of it: size, number of layers,
// and what constants take are bounded.
//
// Errors: kInvalidArgument  names the layer and says what is wrong with it
//         kDataLoss         the .bin is too short
absl::StatusOr<std::unique_ptr<Model>> LoadIr(const std::string& path);

}  // namespace axis
