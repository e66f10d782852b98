// The codec: what messages mean. Messages on one side, kernels on the other;
// no bytes are moved here but those of `Tensor.values`, spelled for people.
#pragma once

#include <string>
#include <vector>

#include "axis/v1/ops.pb.h"
#include "axis/v1/program.pb.h"
#include "axis/v1/tensor_service.pb.h"
#include "kernels/program.h"
#include "server/elements/types.h"
#include "server/process/admission.h"
#include "server/wire/wire.h"

namespace axis {

// An input, checked: its bytes are exactly those its shape calls for.
struct Input {
  InputSpec spec;
  pb::DataType data_type;
  pb::Layout layout;  // of the outputs too
  bool spelled;       // came as `values`, so the response goes as `values`
  Payload data;       // of STRING the places of the `strings` (strings.h)
  Payload strings;
};

// Adds "F32[2,3]" to what a report says of its inputs, as long as that is
// short.
void AppendShape(const Input& input, std::string& shapes);

// Checks what a tensor says of itself, whatever it contains; `size` is how much
// that must be. The input has no data yet.
// Errors: "data_type", "shape", "shape[i]", "layout"
absl::StatusOr<Input> DecodeHeader(const pb::Tensor& header, TensorSize& size);

// Checks a tensor and reads it. Memory that `values` and STRING need is taken
// from `lease` first, then from `pool`.
// Errors: "data_type", "shape", "shape[i]", "data", "layout", "values..."
absl::StatusOr<Input> DecodeTensor(WireTensor tensor, Admission::Lease& lease,
                                   BufferPool& pool);

// The header of an output of the type and layout of `like`.
pb::Tensor EncodeHeader(const Input& like, const Shape& shape);

// Puts `data` into the form of `like`: under `header` as values, or beside it.
// What strings take from `pool`, DecodeTensor took from the lease.
OutTensor EncodeTensor(const Input& like, pb::Tensor header, Payload data,
                       BufferPool& pool);

// The ops of a request; one overload for each request of the service, and one
// for programs.
// Errors: "op"      is absent
//         "ops[k]"  no op is set
//         "op.direction"  is not a direction
absl::StatusOr<std::vector<Op>> DecodeOps(const pb::TransposeRequest&);
absl::StatusOr<std::vector<Op>> DecodeOps(const pb::ShuffleChannelsRequest&);
absl::StatusOr<std::vector<Op>> DecodeOps(const pb::VariadicSplitRequest&);
absl::StatusOr<std::vector<Op>> DecodeOps(const pb::ShuffleRequest&);
absl::StatusOr<std::vector<Op>> DecodeOps(const pb::RunPipelineRequest&);
absl::StatusOr<std::vector<Op>> DecodeOps(const pb::StreamPipelineRequest&);
absl::StatusOr<std::vector<Op>> DecodeOps(const pb::Program&);

// The path of ops[k] in a pipeline: "ops[2].transpose".
std::string PipelineOpName(const Op& op, size_t k);

}  // namespace axis
