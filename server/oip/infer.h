// ModelInfer: the way of a request from the protocol's messages through the
// corridor and back.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "absl/status/status.h"
#include "server/call/corridor.h"
#include "server/models/repository.h"
#include "server/oip/message/wire.h"
#include "server/shm/regions.h"

namespace axis {

// Serves `message`, which it clears as soon as nobody reads it any more, and
// records what became of it with its model. `request` must be empty; then it
// says what the message does, for who tells the client of an error: by a recipe
// no more than its id and the name of the model.
//
// Errors: kNotFound       no such model, version or shared memory region
//         kUnimplemented  `classification`, shared memory if it is not allowed
//         kFailedPrecondition  a region has become smaller
//         "model_name", "inputs...", "outputs...", "parameters..."
//         as UnpackInfer()
absl::Status Infer(grpc::ByteBuffer& message, InferRequest& request,
                   grpc::ByteBuffer& response, const CallContext& call,
                   const Repository& repository, const Regions& regions);

}  // namespace axis
