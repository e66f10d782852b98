// What one would write: the generated, synchronous service, as it comes. The
// op is kindly left out: the payload is only copied to the answer.
//
// usage: protobuf_server ADDRESS...
#include <grpcpp/grpcpp.h>

#include <cstring>
#include <iostream>

#include "axis/v1/tensor_service.grpc.pb.h"

namespace axis::bench {
namespace {

class Service final : public v1::TensorService::Service {
  grpc::Status Transpose(grpc::ServerContext*,
                         const v1::TransposeRequest* request,
                         v1::TransposeResponse* response) override {
    const v1::Tensor& input = request->input();
    v1::Tensor& output = *response->mutable_output();
    output.set_data_type(input.data_type());
    for (const int64_t axis : request->op().order()) {
      if (axis < 0 || axis >= input.shape_size())
        return {grpc::StatusCode::INVALID_ARGUMENT, "op.order"};
      output.add_shape(input.shape(static_cast<int>(axis)));
    }
    output.mutable_data()->resize(input.data().size());
    std::memcpy(output.mutable_data()->data(), input.data().data(),
                input.data().size());
    return grpc::Status::OK;
  }
};

int Main(int argc, char** argv) {
  Service service;
  grpc::ServerBuilder builder;
  for (int i = 1; i < argc; ++i)
    builder.AddListeningPort(argv[i], grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  // Without these, nothing above 4 MiB could be compared.
  builder.SetMaxReceiveMessageSize(-1);
  builder.SetMaxSendMessageSize(-1);
  const auto server = builder.BuildAndStart();
  if (server == nullptr) {
    std::cerr << "protobuf_server: cannot listen" << std::endl;
    return 1;
  }
  server->Wait();  // until killed
  return 0;
}

}  // namespace
}  // namespace axis::bench

int main(int argc, char** argv) { return axis::bench::Main(argc, argv); }
