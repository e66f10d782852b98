// The inputs of a ModelInfer request, decoded and held against the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/call/codec.h"
#include "server/call/corridor.h"
#include "server/models/model.h"
#include "server/oip/message/wire.h"
#include "server/shm/regions.h"

namespace axis {

// An input that is there.
struct InferInput {
  size_t index = SIZE_MAX;  // in the request; a constant has none
  Input input;
  // Its type has no name in the protocol, so that it travels as UINT8.
  bool described = false;
  std::optional<Span> span;  // where the data of `input` lies, if in a region
};

// Decodes the inputs of `request`: an entry for each input of `model`, nullopt
// where an optional one is absent. Empties the contents of the request.
//
// Errors: "inputs"     one is missing, unknown or there twice
//         "inputs[i].datatype", ".shape", ".data", ".contents",
//         "inputs[i].parameters.<name>"
//         "raw_input_contents"  not one for each input outside shared memory
//         kNotFound    a region is unknown
absl::StatusOr<std::vector<std::optional<InferInput>>> DecodeInputs(
    const Model& model, pb::Layout layout, InferRequest& request,
    const Regions& regions, const CallContext& call);

// The one that a model brings along.
InferInput ConstantInput(const Constant& constant);

// A copy of `data` that nobody else sees. Takes its memory from the lease.
absl::StatusOr<Payload> OwnCopy(const Payload& data, const CallContext& call);

}  // namespace axis
