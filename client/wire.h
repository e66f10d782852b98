// The messages of axis.v1, made and read around the bytes of their tensors,
// which are neither copied nor parsed. Makes byte for byte what the generated
// code makes, and reads all that it reads, as long as contents are `data`.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/tensor.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"

namespace axis {

// The request with `inputs` in field 1 and all other fields those of `rest`,
// whose field 1 is unset. Shares the bytes of the inputs.
grpc::ByteBuffer PackRequest(absl::Span<const Tensor> inputs,
                             const google::protobuf::Message& rest);

// The tensors in field 1 of `response`, whose memory they share. `repeated`
// tells whether each occurrence of it is a tensor of its own; if not, there is
// exactly one tensor in the result, merged as protobuf merges.
//
// Errors: INTERNAL  not a message of the contract: cut short or spoilt,
//                   contents that are `values`, more than 32 axes or 4096
//                   outputs
absl::StatusOr<std::vector<Tensor>> UnpackResponse(grpc::ByteBuffer& response,
                                                   bool repeated);

}  // namespace axis
