// The wire of ModelInfer: a request taken apart and a response put together
// without copying or parsing the bulk of them.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "inference/infer.pb.h"
#include "server/process/admission.h"
#include "server/wire/payload.h"

namespace axis {

namespace oip = ::inference;

// A request whose bulk has been cut out of it.
struct InferRequest {
  oip::ModelInferRequest head;  // without contents and raw_input_contents
  // By input; InferInputTensor.contents, serialized, if it is there.
  std::vector<std::optional<Payload>> contents;
  std::vector<Payload> raw;       // raw_input_contents
  std::vector<int64_t> raw_ends;  // where in the message each of them ends
  int64_t id_end = 0;             // and where its id does, if it has one
};

// Takes `message` apart. Raw contents and contents share its slices; what the
// rest costs is taken from `lease` before it is parsed.
//
// Errors: kInvalidArgument  not a protobuf message of that type
//         "inputs", "outputs", "parameters", "raw_input_contents"
//                           too many of them, or more than kMaxRestBytes
//         "inputs[i].contents"  more than kMaxValuesParts of them
absl::Status UnpackInfer(const grpc::ByteBuffer& message,
                         Admission::Lease& lease, InferRequest& request);

// The bytes that PackInfer() makes of outputs of so many bytes.
int64_t PackedBytes(const oip::ModelInferResponse& head,
                    std::span<const int64_t> outputs);

// What is in the response before each of the outputs, of so many bytes; all of
// it if there are none.
std::vector<grpc::Slice> PrefixesOf(const oip::ModelInferResponse& head,
                                    std::span<const int64_t> outputs);

// Puts the response together: `head` and the outputs' bytes, shared.
grpc::ByteBuffer PackInfer(const oip::ModelInferResponse& head,
                           std::span<const Payload> outputs);

// Puts a response of ModelStreamInfer around one of ModelInfer.
grpc::ByteBuffer PackStreamed(const grpc::ByteBuffer& response);

}  // namespace axis
