// The wire: gRPC bytes, taken apart into tensors and put together again
// without copying or parsing the bulk of them.
//
// Works for every message of axis.v1 because of the invariant stated in
// tensor_service.proto: field 1 holds the tensors, nothing else is bulky.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "axis/v1/tensor.pb.h"
#include "server/wire/payload.h"

namespace axis {

namespace pb = ::axis::v1;

// What a request may make the server hold before it has been admitted. Data is
// shared and costs nothing; everything else is bounded by these and kMaxRank.
inline constexpr int kMaxInputs = 1024;            // tensors of field 1
inline constexpr int kMaxOps = 64;                 // ops of a pipeline
inline constexpr int64_t kMaxRestBytes = 1 << 20;  // all but the tensors
inline constexpr int kMaxValuesParts = 64;         // `values` of a tensor

// A tensor whose contents have been cut out of its message. At most one of
// `data` and `values` is there.
struct WireTensor {
  pb::Tensor header;              // data_type, shape and layout only
  std::optional<Payload> data;    // Tensor.data
  int64_t data_end = 0;           // where in the message `data` ends
  std::optional<Payload> values;  // Tensor.values, serialized; see ParseValues
  int64_t values_cost = 0;        // bytes that ParseValues takes, at most
};

// Takes the request `message` apart: the tensors of its field 1 into `tensors`,
// in order, and all other fields that its type knows into `rest`, whose field 1
// stays empty. Accepts and refuses what `rest.ParseFromString` does, within the
// limits above, and merges what it merges; fields unknown to `rest` and to
// Tensor are dropped.
//
// Errors: kInvalidArgument  not a protobuf message of that type
//         "input.shape", "inputs[i].shape"    more than kMaxRank extents
//         "input.values", "inputs[i].values"  more than kMaxValuesParts of them
//         "inputs", "ops"                     more than kMaxInputs, kMaxOps
//         "op", "ops"                         more than kMaxRestBytes
absl::Status Unpack(const grpc::ByteBuffer& message,
                    std::vector<WireTensor>& tensors,
                    google::protobuf::Message& rest);

// The message that a WireTensor::values spells. Cannot fail: Unpack checked it.
pb::Values ParseValues(const Payload& values);

// A tensor of a response: `header` with `values` set, or `header` and `data`.
struct OutTensor {
  pb::Tensor header;
  Payload data;  // unused if header.has_values()
};

// The bytes that `Pack` makes of a tensor with `data_bytes` bytes of data,
// which need not be there yet.
int64_t PackedBytes(const pb::Tensor& header, int64_t data_bytes);

// What a tensor of a response is before its `data_bytes` bytes of data; all of
// it if header.has_values().
std::string DataPrefix(const pb::Tensor& header, int64_t data_bytes);

// Puts the response together that holds `tensors` in field 1 and nothing else.
// Data is always there, even if empty, and shared, not copied.
grpc::ByteBuffer Pack(std::span<const OutTensor> tensors);

}  // namespace axis
