#include "server/rpc/tensor_service.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <type_traits>

#include "axis/v1/tensor_service.grpc.pb.h"
#include "server/call/corridor.h"
#include "server/call/light.h"
#include "server/elements/types.h"
#include "server/rpc/stream_call.h"
#include "server/rpc/unary_call.h"
#include "server/wire/rest.h"

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

constexpr const char* kNames[] = {"Transpose",     "ShuffleChannels",
                                  "VariadicSplit", "Shuffle",
                                  "RunPipeline",   "StreamPipeline"};

// How many calls of each method gRPC can hand over before we ask for more: it
// looks through all that it was asked for, several times a call.
constexpr int kPrepared = 8;

// Whether elements are of less than a byte.
bool IsUneven(const pb::Tensor& tensor) {
  return BitsOf(tensor.data_type()) < 8;
}

template <class Request>
bool IsUneven(const Request& rest) {
  return IsUneven(rest.input());
}

bool IsUneven(const pb::RunPipelineRequest& rest) {
  return std::any_of(rest.inputs().begin(), rest.inputs().end(),
                     [](const pb::Tensor& input) { return IsUneven(input); });
}

// What `request` says beside its data, if that is little.
template <class Request>
std::optional<Request> ParseRest(const grpc::ByteBuffer& request) {
  constexpr uint32_t kData[] = {1, pb::Tensor::kDataFieldNumber};
  const std::optional<std::string> rest = RestOf(request, kData, kLightRest);
  Request message;
  if (!rest || !message.ParseFromString(*rest)) return std::nullopt;
  return message;
}

// What the request takes of which `rest` is all but its data.
template <class Request>
Work WorkOf(const Request&) {
  return {};
}

Work WorkOf(const pb::VariadicSplitRequest& rest) {
  return {.tensors = rest.op().split_lengths_size()};
}

Work WorkOf(const pb::RunPipelineRequest& rest) {
  int64_t last = rest.inputs_size();
  Work work{.ops = std::max(1, rest.ops_size()), .tensors = last};
  for (const pb::Op& op : rest.ops()) {
    if (op.has_variadic_split())
      last *= op.variadic_split().split_lengths_size();
    work.tensors += last;
    if (work.tensors > kLightTensors) break;  // is enough, and may overflow
  }
  return work;
}

// See UnaryMethod::is_light.
template <class Request>
bool IsLight(const grpc::ByteBuffer& request, const RecipeBook& recipes) {
  constexpr bool kIsChain = std::is_same_v<Request, pb::RunPipelineRequest>;
  constexpr bool kIsSplit = std::is_same_v<Request, pb::VariadicSplitRequest>;
  const auto bytes = static_cast<int64_t>(request.Length());
  if (!kIsChain && bytes <= (kIsSplit ? kLightTensors : kLightRest))
    return true;
  if (bytes > kLightBytes) return false;
  if (recipes.HasLight(Request::descriptor(), request)) return true;
  const auto rest = ParseRest<Request>(request);
  return rest && WorkOf(*rest).IsLight(bytes, IsUneven(*rest));
}

class AsyncTensorService final : public TensorService {
 public:
  explicit AsyncTensorService(const Workshop& workshop) : workshop_(workshop) {}

  grpc::Service* service() override { return &service_; }

  void Start(grpc::ServerCompletionQueue* queue) override {
    Add<pb::TransposeRequest>(&RawService::RequestTranspose, queue);
    Add<pb::ShuffleChannelsRequest>(&RawService::RequestShuffleChannels, queue);
    Add<pb::VariadicSplitRequest>(&RawService::RequestVariadicSplit, queue);
    Add<pb::ShuffleRequest>(&RawService::RequestShuffle, queue);
    Add<pb::RunPipelineRequest>(&RawService::RequestRunPipeline, queue);
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
  void Add(Ask ask, grpc::ServerCompletionQueue* queue) {
    const size_t method = methods_.size();
    methods_.push_back(
        {kNames[method], method,
         [this, ask, queue](grpc::ServerContext* context,
                            grpc::ByteBuffer* request, RawWriter* writer,
                            void* tag) {
           (service_.*ask)(context, request, writer, queue, queue, tag);
         },
         Serve<Request>,
         [&recipes = workshop_.recipes](const grpc::ByteBuffer& request) {
           return IsLight<Request>(request, recipes);
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
