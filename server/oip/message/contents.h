// Typed contents of the Open Inference Protocol: an InferTensorContents, read
// straight into packed elements.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "axis/v1/tensor.pb.h"
#include "kernels/copy/memory/buffer_pool.h"
#include "server/process/admission.h"
#include "server/wire/payload.h"

namespace axis {

namespace pb = ::axis::v1;

// The `elements` elements of `type` that `contents`, a serialized message,
// spells, as raw contents would hold them. Takes their memory from `lease`.
// Errors: kInvalidArgument  not a protobuf message
//         "contents"        the type has no list here; another list is used;
//                           or there are more or fewer elements
//         "contents.<list>[i]"  out of the range of the type
absl::StatusOr<Payload> PackContents(const Payload& contents, pb::DataType type,
                                     int64_t elements, Admission::Lease& lease,
                                     BufferPool& pool);

}  // namespace axis
