// The outputs of a ModelInfer request: which are wanted, where they go, and
// what the response says of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "axis/v1/tensor.pb.h"
#include "inference/infer.pb.h"
#include "server/models/model.h"
#include "server/shm/regions.h"

namespace axis {

// An output that the client wants.
struct WantedOutput {
  size_t result;             // of the binding
  std::optional<Span> span;  // where it goes, if not into the response
  std::string region;        // the name of that
};

// All outputs of `binding`, or those that `request` names.
// Errors: "outputs[i].name"  is no output, or there twice
//         "outputs[i].parameters.<name>"
//         kUnimplemented     `classification`
//         kNotFound          no such region
absl::StatusOr<std::vector<WantedOutput>> DecodeOutputs(
    const oip::ModelInferRequest& request, const Binding& binding,
    const Regions& regions);

// Says what `output` holds: `bytes` bytes of `type`, as UINT8 if `described` or
// if the protocol has no name for it.
void DescribeOutput(pb::DataType type, const Shape& shape, bool described,
                    int64_t bytes,
                    oip::ModelInferResponse::InferOutputTensor& output);

}  // namespace axis
