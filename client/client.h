// The C++ client of axisd: the one header a program includes to have tensors
// rearranged. Tensors and ops are the messages of the contract themselves.
//
//   axis::Client client("localhost:8001");
//   auto nchw = axis::MakeTensor<float>({1, 3, 2, 2}, pixels);
//   axis::pb::Transpose op;
//   for (int64_t axis : {0, 2, 3, 1}) op.add_order(axis);
//   absl::StatusOr<axis::pb::Tensor> nhwc = client.Transpose(nchw, op);
//   absl::StatusOr<absl::Span<const float>> out =
//       axis::Elements<float>(*nhwc);
#pragma once

#include <bit>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "axis/v1/tensor_service.grpc.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/security/credentials.h"

namespace axis {

namespace pb = ::axis::v1;

// A connection to one axisd or to many replicas behind one name. Blocking.
// Thread-safe: make one and share it; it connects when first used, and again
// after a loss.
//
// The ops are pure, so calls that a server did not answer (`UNAVAILABLE`) are
// sent again, up to 4 times in all, and go round the replicas that say they
// are ready.
//
// Errors, of every call: the code and the message of the server, whose details
//     are payloads of the status (see `FieldOf`). Besides:
//   RESOURCE_EXHAUSTED  the request is above `max_message_bytes`; not sent
//   UNAVAILABLE         cannot reach a server, and not to wait for one
//   DEADLINE_EXCEEDED   no answer within `timeout`, or no server to ask
class Client {
 public:
  struct Options {
    // The time one call may take, retries and waiting for a server included.
    absl::Duration timeout = absl::Seconds(60);

    // Whether a call waits, up to `timeout`, for a server to come up. If not,
    // it fails within a second or two of the first refused connection.
    bool wait_for_ready = true;

    // The largest message sent or received. gRPC's own default is 4 MiB; more
    // than this default, protobuf cannot hold.
    int max_message_bytes = std::numeric_limits<int>::max();

    // How to prove who is who, in PEM; plaintext if absent. Empty roots are
    // those of the system; key and chain are for servers that ask for them.
    std::optional<grpc::SslCredentialsOptions> tls;
  };

  // Connects to `target`, "host:port" or "unix:PATH" (or any other name that
  // gRPC resolves), in the background.
  explicit Client(std::string target) : Client(std::move(target), Options{}) {}
  Client(std::string target, const Options& options);

  // Apply one op to a tensor. Pass `std::move(input)` to save a copy.
  absl::StatusOr<pb::Tensor> Transpose(pb::Tensor input,
                                       const pb::Transpose& op);
  absl::StatusOr<pb::Tensor> ShuffleChannels(pb::Tensor input,
                                             const pb::ShuffleChannels& op);
  absl::StatusOr<pb::Tensor> Shuffle(pb::Tensor input, const pb::Shuffle& op);
  absl::StatusOr<std::vector<pb::Tensor>> VariadicSplit(
      pb::Tensor input, const pb::VariadicSplit& op);

  // Applies several ops to several tensors, in one trip.
  absl::StatusOr<pb::RunPipelineResponse> Run(
      const pb::RunPipelineRequest& request);

  // Whether `service` takes calls; "" is the server as a whole.
  // Errors: NOT_FOUND  the server does not know the service
  absl::StatusOr<bool> Health(const std::string& service = "");

  // The path of the field that the server found wrong, such as "op.order[1]";
  // empty if it named none.
  static std::string FieldOf(const absl::Status& status);

 private:
  template <typename Request, typename Response>
  using Method = grpc::Status (pb::TensorService::Stub::*)(grpc::ClientContext*,
                                                           const Request&,
                                                           Response*);
  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(Method<Request, Response> method,
                                const Request& request);
  absl::Status ToStatus(const grpc::Status& status,
                        grpc::Channel& channel) const;

  const std::string target_;
  const Options options_;
  // Calls go to replicas that are ready; questions of health must not.
  const std::shared_ptr<grpc::Channel> channel_;
  const std::shared_ptr<grpc::Channel> health_channel_;
  const std::unique_ptr<pb::TensorService::Stub> stub_;
};

// The data type of tensors whose elements are `T`. Types without a C++ type
// of their own (F16, BF16, U4...) are for the caller to pack into
// `Tensor.data`, as the contract lays them out.
template <typename T>
inline constexpr pb::DataType kDataTypeOf = pb::DATA_TYPE_UNSPECIFIED;
template <>
inline constexpr pb::DataType kDataTypeOf<bool> = pb::DATA_TYPE_BOOL;
template <>
inline constexpr pb::DataType kDataTypeOf<uint8_t> = pb::DATA_TYPE_U8;
template <>
inline constexpr pb::DataType kDataTypeOf<int8_t> = pb::DATA_TYPE_I8;
template <>
inline constexpr pb::DataType kDataTypeOf<uint16_t> = pb::DATA_TYPE_U16;
template <>
inline constexpr pb::DataType kDataTypeOf<int16_t> = pb::DATA_TYPE_I16;
template <>
inline constexpr pb::DataType kDataTypeOf<uint32_t> = pb::DATA_TYPE_U32;
template <>
inline constexpr pb::DataType kDataTypeOf<int32_t> = pb::DATA_TYPE_I32;
template <>
inline constexpr pb::DataType kDataTypeOf<uint64_t> = pb::DATA_TYPE_U64;
template <>
inline constexpr pb::DataType kDataTypeOf<int64_t> = pb::DATA_TYPE_I64;
template <>
inline constexpr pb::DataType kDataTypeOf<float> = pb::DATA_TYPE_F32;
template <>
inline constexpr pb::DataType kDataTypeOf<double> = pb::DATA_TYPE_F64;
template <>
inline constexpr pb::DataType kDataTypeOf<std::complex<float>> =
    pb::DATA_TYPE_C64;
template <>
inline constexpr pb::DataType kDataTypeOf<std::complex<double>> =
    pb::DATA_TYPE_C128;

// A tensor of `elements` in row-major order; the server checks that `shape`
// holds as many.
template <typename T>
pb::Tensor MakeTensor(absl::Span<const int64_t> shape,
                      absl::Span<const T> elements) {
  static_assert(std::endian::native == std::endian::little);
  static_assert(kDataTypeOf<T> != pb::DATA_TYPE_UNSPECIFIED);
  pb::Tensor tensor;
  tensor.set_data_type(kDataTypeOf<T>);
  tensor.mutable_shape()->Add(shape.begin(), shape.end());
  tensor.set_data(elements.data(), elements.size() * sizeof(T));
  return tensor;
}

// The elements of `tensor`, in the order of its layout; valid as long as the
// tensor is and does not change.
// Errors: "data_type"  is not that of `T`
//         "data"       holds a fraction of an element
template <typename T>
absl::StatusOr<absl::Span<const T>> Elements(const pb::Tensor& tensor) {
  static_assert(std::endian::native == std::endian::little);
  static_assert(kDataTypeOf<T> != pb::DATA_TYPE_UNSPECIFIED);
  if (tensor.data_type() != kDataTypeOf<T>)
    return absl::InvalidArgumentError(
        "data_type: must be " + pb::DataType_Name(kDataTypeOf<T>) + ", is " +
        pb::DataType_Name(tensor.data_type()));
  if (tensor.data().size() % sizeof(T) != 0)
    return absl::InvalidArgumentError("data: holds a fraction of an element");
  return absl::MakeConstSpan(reinterpret_cast<const T*>(tensor.data().data()),
                             tensor.data().size() / sizeof(T));
}

}  // namespace axis
