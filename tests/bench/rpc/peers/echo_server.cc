// Sends every Transpose request back as it is: the limit of what gRPC can do.
// One queue, one thread, tuned as axisd is; bytes are not even looked at.
//
// usage: echo_server ADDRESS...
#include <grpcpp/grpcpp.h>

#include <iostream>
#include <memory>

#include "axis/v1/tensor_service.grpc.pb.h"
#include "server/process/host.h"

namespace axis::bench {
namespace {

using Service =
    v1::TensorService::WithRawMethod_Transpose<v1::TensorService::Service>;

// How many calls can arrive before we ask for more.
constexpr int kPrepared = 64;

// A place for one call after the other.
class Echo {
 public:
  Echo(Service& service, grpc::ServerCompletionQueue& queue)
      : service_(service), queue_(queue) {
    Await();
  }

  // The operation that the queue handed back has ended.
  void Proceed() {
    if (arrived_) {
      Await();
    } else {
      arrived_ = true;
      call_->writer.Finish(call_->bytes, grpc::Status::OK, this);
    }
  }

 private:
  struct Call {
    grpc::ServerContext context;
    grpc::ByteBuffer bytes;
    grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> writer{&context};
  };

  void Await() {
    arrived_ = false;
    call_ = std::make_unique<Call>();
    service_.RequestTranspose(&call_->context, &call_->bytes, &call_->writer,
                              &queue_, &queue_, this);
  }

  Service& service_;
  grpc::ServerCompletionQueue& queue_;
  std::unique_ptr<Call> call_;
  bool arrived_ = false;
};

int Main(int argc, char** argv) {
  PrepareProcess();
  LimitFiles(INT64_MAX);
  Service service;
  grpc::ServerBuilder builder;
  for (int i = 1; i < argc; ++i)
    builder.AddListeningPort(argv[i], grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  builder.SetMaxReceiveMessageSize(-1);
  builder.SetMaxSendMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  const auto queue = builder.AddCompletionQueue();
  const auto server = builder.BuildAndStart();
  if (server == nullptr) {
    std::cerr << "echo_server: cannot listen" << std::endl;
    return 1;
  }
  std::vector<std::unique_ptr<Echo>> echoes;
  for (int i = 0; i < kPrepared; ++i)
    echoes.push_back(std::make_unique<Echo>(service, *queue));
  void* tag = nullptr;
  // Until killed. A send that failed is the client's concern.
  for (bool ok = false; queue->Next(&tag, &ok);)
    static_cast<Echo*>(tag)->Proceed();
  return 0;
}

}  // namespace
}  // namespace axis::bench

int main(int argc, char** argv) { return axis::bench::Main(argc, argv); }
