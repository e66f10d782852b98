#include "server/rpc/tensor_service.h"

#include <deque>

#include "axis/v1/tensor_service.grpc.pb.h"
#include "server/call/corridor.h"
#include "server/rpc/stream_call.h"
#include "server/rpc/unary_call.h"

namespace axis {

namespace pb = ::axis::v1;

namespace {

// Raw: the methods get bytes, not messages, so that tensor data is never
// parsed. Not a generic service: reflection would not list it, and grpcurl
// needs reflection.
using RawService = pb::TensorService::WithRawMethod_Transpose<
    pb::TensorService::WithRawMethod_ShuffleChannels<
        pb::TensorService::WithRawMethod_VariadicSplit<
            pb::TensorService::WithRawMethod_Shuffle<
                pb::TensorService::WithRawMethod_RunPipeline<
                    pb::TensorService::WithRawMethod_StreamPipeline<
                        pb::TensorService::Service>>>>>>;

// A small pipeline can ask for much work, so it must be very small.
constexpr size_t kLightPipeline = 4 << 10;

constexpr const char* kNames[] = {"Transpose",     "ShuffleChannels",
                                  "VariadicSplit", "Shuffle",
                                  "RunPipeline",   "StreamPipeline"};

// How many calls of each method gRPC can hand over before we ask for more: it
// looks through all that it was asked for, several times a call.
constexpr int kPrepared = 8;

class AsyncTensorService final : public TensorService {
 public:
  explicit AsyncTensorService(const Workshop& workshop) : workshop_(workshop) {}

  grpc::Service* service() override { return &service_; }

  void Start(grpc::ServerCompletionQueue* queue) override {
    Add<pb::TransposeRequest>(&RawService::RequestTranspose, kLightOp, queue);
    Add<pb::ShuffleChannelsRequest>(&RawService::RequestShuffleChannels,
                                    kLightOp, queue);
    Add<pb::VariadicSplitRequest>(&RawService::RequestVariadicSplit, kLightOp,
                                  queue);
    Add<pb::ShuffleRequest>(&RawService::RequestShuffle, kLightOp, queue);
    Add<pb::RunPipelineRequest>(&RawService::RequestRunPipeline, kLightPipeline,
                                queue);
    stream_method_.request = [this, queue](grpc::ServerContext* context,
                                           RawStream* stream, void* tag) {
      service_.RequestStreamPipeline(context, stream, queue, queue, tag);
    };
    for (int i = 0; i < kPrepared; ++i) {
      for (const UnaryMethod& method : methods_) AwaitCall(method, workshop_);
      AwaitStream(stream_method_, workshop_);
    }
  }

 private:
  // Adds the next method of kNames, of which gRPC is asked by `ask`.
  template <class Request, class Ask>
  void Add(Ask ask, size_t light_bytes, grpc::ServerCompletionQueue* queue) {
    const size_t method = methods_.size();
    methods_.push_back({kNames[method], method,
                        [this, ask, queue](grpc::ServerContext* context,
                                           grpc::ByteBuffer* request,
                                           RawWriter* writer, void* tag) {
                          (service_.*ask)(context, request, writer, queue,
                                          queue, tag);
                        },
                        Serve<Request>,
                        [light_bytes](const grpc::ByteBuffer& request) {
                          return request.Length() <= light_bytes;
                        },
                        pb::METHOD_GROUP_OPS});
  }

  const Workshop workshop_;
  RawService service_;
  std::deque<UnaryMethod> methods_;  // calls refer to them
  StreamMethod stream_method_{kNames[5], 5, {}, pb::METHOD_GROUP_OPS};
};

}  // namespace

std::vector<std::string> TensorService::MethodNames() {
  return {std::begin(kNames), std::end(kNames)};
}

std::unique_ptr<TensorService> MakeTensorService(const Workshop& workshop) {
  return std::make_unique<AsyncTensorService>(workshop);
}

}  // namespace axis
