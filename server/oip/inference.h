// A request of ModelInfer on its way, room by room.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "inference/infer.pb.h"
#include "kernels/program.h"
#include "server/call/corridor.h"
#include "server/call/recipe.h"
#include "server/models/model.h"
#include "server/oip/inputs.h"
#include "server/oip/message/wire.h"
#include "server/oip/outputs.h"
#include "server/shm/regions.h"

namespace axis {

// An envelope around the raw contents of an input of the request.
struct RawEnvelope {
  size_t input;
  Envelope envelope;
};

// To be called in this order; each may fail, as Infer() does.
class Inference {
 public:
  // All must outlive it.
  Inference(const Model& model, const Regions& regions, const CallContext& call)
      : model_(model), regions_(regions), call_(call) {}

  absl::Status Unpack(InferRequest& request);
  absl::Status Compile(const oip::ModelInferRequest& request);
  absl::Status Execute();
  absl::Status Pack(grpc::ByteBuffer& response);

  // After Compile(), instead of the others: the recipe for requests that differ
  // in nothing but what `around` leaves out, and in `data` what this one has
  // there; nullopt, and nothing has changed, if that is not all they are of.
  std::optional<Recipe> TakeRecipe(RawEnvelope around, Payload& data);

 private:
  const InferInput& InputOf(size_t output) const {
    return inputs_[static_cast<size_t>(program_.outputs[output].input)];
  }
  Payload& BufferOf(size_t output) {
    return buffers_[static_cast<size_t>(program_.outputs[output].buffer)];
  }
  // How many bytes an output has; of strings what their places take.
  int64_t BytesOf(size_t output) const {
    return program_
        .buffer_bytes[static_cast<size_t>(program_.outputs[output].buffer)];
  }

  absl::Status AddOutput(size_t i);
  absl::Status TooSmall(size_t i, int64_t bytes) const;
  absl::Status CheckResponse();
  // The bytes that output i will write in its region.
  Span TargetOf(size_t i) const;
  // Outputs must not overlap each other; inputs that they overlap are copied.
  absl::Status SeparateRegions();
  // Lets the engine read and write the regions themselves.
  void Lend();
  absl::Status StoreStrings(size_t i, const Payload& data);

  const Model& model_;
  const Regions& regions_;
  const CallContext& call_;
  std::vector<InferInput> inputs_;  // data alone, then the constants
  Binding binding_;
  std::vector<WantedOutput> wanted_;
  Program program_;
  Lent lent_;
  std::vector<Payload> buffers_;
  oip::ModelInferResponse head_;
};

}  // namespace axis
