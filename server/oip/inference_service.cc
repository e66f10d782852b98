#include "server/oip/inference_service.h"

#include <google/protobuf/message_lite.h>

#include <atomic>
#include <deque>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "inference/inference_service.grpc.pb.h"
#include "kernels/status.h"
#include "server/call/light.h"
#include "server/call/rpc_status.h"
#include "server/oip/answers.h"
#include "server/oip/infer.h"
#include "server/oip/message/region.h"
#include "server/process/out_of_memory.h"
#include "server/rpc/exchange_call.h"
#include "server/rpc/unary_call.h"
#include "server/wire/inflate.h"
#include "server/wire/rest.h"
#include "server/wire/wire.h"

namespace axis {
namespace {

using Base = oip::GRPCInferenceService;

// Raw, every one of them: then nothing is parsed before it has been inflated
// and admitted.
template <class B>
using RawHealth = Base::WithRawMethod_ServerLive<
    Base::WithRawMethod_ServerReady<Base::WithRawMethod_ModelReady<B>>>;
template <class B>
using RawModels =
    Base::WithRawMethod_ServerMetadata<Base::WithRawMethod_ModelMetadata<
        Base::WithRawMethod_ModelConfig<Base::WithRawMethod_ModelStatistics<
            Base::WithRawMethod_RepositoryIndex<B>>>>>;
template <class B>
using RawMemory = Base::WithRawMethod_SystemSharedMemoryStatus<
    Base::WithRawMethod_SystemSharedMemoryRegister<
        Base::WithRawMethod_SystemSharedMemoryUnregister<B>>>;
template <class B>
using RawInfer =
    Base::WithRawMethod_ModelInfer<Base::WithRawMethod_ModelStreamInfer<B>>;
using RawService = RawHealth<RawModels<RawMemory<RawInfer<Base::Service>>>>;

constexpr const char* kNames[] = {
    "ServerLive",
    "ServerReady",
    "ModelReady",
    "ServerMetadata",
    "ModelMetadata",
    "ModelConfig",
    "ModelStatistics",
    "RepositoryIndex",
    "SystemSharedMemoryStatus",
    "SystemSharedMemoryRegister",
    "SystemSharedMemoryUnregister",
    "ModelInfer",
    "ModelStreamInfer",
};

// The group of kNames[k]; none for those that tell of health.
pb::MethodGroup GroupOf(size_t k) {
  if (k < 3) return pb::METHOD_GROUP_UNSPECIFIED;
  if (k < 8) return pb::METHOD_GROUP_DESCRIBE;
  return k < 11 ? pb::METHOD_GROUP_SHARED_MEMORY : pb::METHOD_GROUP_INFER;
}

// How many calls gRPC can hand over before we ask for more: of the methods
// that work, and of those that answer.
constexpr int kPrepared = 8;
constexpr int kPreparedAnswers = 2;

// The largest requests of other methods that are light.
constexpr size_t kLightAnswer = 64 << 10;

// Whether the elements of a request may be of less than a byte, or strings.
// `rest` is what it says beside its raw data.
bool MayBeUneven(const std::string& rest) {
  return absl::StrContains(rest, "data_type") ||
         absl::StrContains(rest, "BYTES");
}

absl::Status Parse(const grpc::ByteBuffer& bytes,
                   google::protobuf::Message& message) {
  if (static_cast<int64_t>(bytes.Length()) > kMaxRestBytes)
    return absl::InvalidArgumentError(absl::StrCat(
        "the request must take at most ", kMaxRestBytes, " bytes"));
  grpc::ByteBuffer copy = bytes;
  const grpc::Status status =
      grpc::GenericDeserialize<grpc::ProtoBufferReader,
                               google::protobuf::Message>(&copy, &message);
  if (status.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "the request is not a valid protobuf message");
}

grpc::ByteBuffer Serialize(const google::protobuf::Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

// The message of a stream that says why a request failed.
grpc::ByteBuffer Refusal(const absl::Status& status,
                         const oip::ModelInferRequest& request) {
  oip::ModelStreamInferResponse response;
  response.set_error_message(ToGrpc(status).error_message());
  response.mutable_infer_response()->set_id(request.id());
  response.mutable_infer_response()->set_model_name(request.model_name());
  return Serialize(response);
}

class AsyncInferenceService final : public InferenceService {
 public:
  AsyncInferenceService(const Workshop& workshop, const Repository& repository,
                        Regions& regions, size_t first_method)
      : workshop_(workshop),
        repository_(repository),
        regions_(regions),
        first_method_(first_method) {}

  grpc::Service* service() override { return &service_; }

  void SetReady(bool is_ready) override { is_ready_ = is_ready; }

  void Start(grpc::ServerCompletionQueue* queue) override {
    using S = RawService;
    AddAnswer<oip::ServerLiveRequest>(&S::RequestServerLive, queue);
    AddAnswer<oip::ServerReadyRequest>(&S::RequestServerReady, queue);
    AddAnswer<oip::ModelReadyRequest>(&S::RequestModelReady, queue);
    AddAnswer<oip::ServerMetadataRequest>(&S::RequestServerMetadata, queue);
    AddAnswer<oip::ModelMetadataRequest>(&S::RequestModelMetadata, queue);
    AddAnswer<oip::ModelConfigRequest>(&S::RequestModelConfig, queue);
    AddAnswer<oip::ModelStatisticsRequest>(&S::RequestModelStatistics, queue);
    AddAnswer<oip::RepositoryIndexRequest>(&S::RequestRepositoryIndex, queue);
    AddAnswer<oip::SystemSharedMemoryStatusRequest>(
        &S::RequestSystemSharedMemoryStatus, queue);
    AddAnswer<oip::SystemSharedMemoryRegisterRequest>(
        &S::RequestSystemSharedMemoryRegister, queue);
    AddAnswer<oip::SystemSharedMemoryUnregisterRequest>(
        &S::RequestSystemSharedMemoryUnregister, queue);
    for (const UnaryMethod& method : methods_)
      for (int i = 0; i < kPreparedAnswers; ++i) AwaitCall(method, workshop_);

    const auto is_light = [this](const grpc::ByteBuffer& request) {
      return IsLight(request);
    };
    Add(
        &S::RequestModelInfer, queue,
        [this](grpc::ByteBuffer& request, grpc::ByteBuffer& response,
               const CallContext& call) {
          InferRequest unpacked;
          return Infer(request, unpacked, response, call, repository_,
                       regions_);
        },
        is_light);
    const size_t stream = methods_.size();
    exchange_ = {{kNames[stream], first_method_ + stream,
                  [this, queue](grpc::ServerContext* context, RawStream* rpc,
                                void* tag) {
                    service_.RequestModelStreamInfer(context, rpc, queue, queue,
                                                     tag);
                  },
                  GroupOf(stream)},
                 [this](grpc::ByteBuffer& request, const CallContext& call) {
                   return AnswerStreamed(request, call);
                 },
                 is_light};
    for (int i = 0; i < kPrepared; ++i) {
      AwaitCall(methods_.back(), workshop_);
      AwaitExchange(exchange_, workshop_);
    }
  }

 private:
  // Adds the next method of kNames, of which gRPC is asked by `ask`.
  template <class Ask, class Serve, class IsLight>
  void Add(Ask ask, grpc::ServerCompletionQueue* queue, Serve serve,
           IsLight is_light) {
    const size_t k = methods_.size();
    methods_.push_back({kNames[k], first_method_ + k,
                        [this, ask, queue](grpc::ServerContext* context,
                                           grpc::ByteBuffer* request,
                                           RawWriter* writer, void* tag) {
                          (service_.*ask)(context, request, writer, queue,
                                          queue, tag);
                        },
                        std::move(serve), is_light, GroupOf(k)});
  }

  // Adds a method that Answer() serves.
  template <class Request, class Ask>
  void AddAnswer(Ask ask, grpc::ServerCompletionQueue* queue) {
    Add(
        ask, queue,
        [this](grpc::ByteBuffer& request, grpc::ByteBuffer& response,
               const CallContext&) {
          const WaitsForMemory scope;
          Request message;
          AXIS_RETURN_IF_ERROR(Parse(request, message));
          AXIS_ASSIGN_OR_RETURN(
              const auto answer,
              Answer(message, {repository_, regions_, is_ready_}));
          response = Serialize(answer);
          return absl::OkStatus();
        },
        [](const grpc::ByteBuffer& request) {
          return request.Length() <= kLightAnswer;
        });
  }

  bool IsLight(const grpc::ByteBuffer& request) const {
    const auto bytes = static_cast<int64_t>(request.Length());
    const auto is_light = [&](const oip::ModelInferRequest& rest,
                              bool is_uneven) {
      const auto model = repository_.Find(rest.model_name(), "", "");
      // What names none is refused at once.
      return !model.ok() || (*model)->WorkOf(rest).IsLight(bytes, is_uneven);
    };
    if (bytes > kLightBytes) return false;
    if (workshop_.recipes.HasLight(oip::ModelInferRequest::descriptor(),
                                   request))
      return true;
    oip::ModelInferRequest head;
    if (bytes <= kLightRest && !regions_.allowed()) {
      auto name = StringIn(request, head.kModelNameFieldNumber);
      head.set_model_name(name.value_or(""));
      if (name && is_light(head, /*is_uneven=*/true)) return true;
    }
    constexpr uint32_t kRaw[] = {
        oip::ModelInferRequest::kRawInputContentsFieldNumber};
    const std::optional<std::string> rest = RestOf(request, kRaw, kLightRest);
    // What lies in shared memory does not show in the size of a message, and
    // who touches it may have to wait for its other users.
    return rest && head.ParseFromString(*rest) &&
           is_light(head, MayBeUneven(*rest)) &&
           !(regions_.allowed() && absl::StrContains(*rest, kRegionParameter));
  }

  grpc::ByteBuffer AnswerStreamed(grpc::ByteBuffer& request,
                                  const CallContext& call) {
    InferRequest unpacked;
    grpc::ByteBuffer response;
    absl::Status status;
    try {
      const MayRunOut scope;
      const int64_t bytes = static_cast<int64_t>(request.Length());
      status = call.report.status;
      if (status.ok()) status = CheckRequestBytes(bytes, call);
      if (status.ok()) status = call.lease.Take(bytes);
      if (status.ok()) status = Inflate(request, call);
      if (status.ok())
        status =
            Infer(request, unpacked, response, call, repository_, regions_);
    } catch (const std::bad_alloc&) {
      status = OutOfMemory();
    }
    return status.ok() ? PackStreamed(response)
                       : Refusal(status, unpacked.head);
  }

  const Workshop workshop_;
  const Repository& repository_;
  Regions& regions_;
  const size_t first_method_;
  std::atomic<bool> is_ready_{true};
  RawService service_;
  std::deque<UnaryMethod> methods_;  // calls refer to them
  ExchangeMethod exchange_;
};

}  // namespace

std::vector<std::string> InferenceService::MethodNames() {
  return {std::begin(kNames), std::end(kNames)};
}

std::unique_ptr<InferenceService> MakeInferenceService(
    const Workshop& workshop, const Repository& repository, Regions& regions,
    size_t first_method) {
  return std::make_unique<AsyncInferenceService>(workshop, repository, regions,
                                                 first_method);
}

}  // namespace axis
