#include "server/oip/infer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "server/call/recipe.h"
#include "server/oip/inference.h"

namespace axis {
namespace {

// What lies around the largest of the raw contents. Nullopt if that is much, or
// if the next request would differ in more: it has inputs elsewhere.
std::optional<RawEnvelope> RawEnvelopeOf(const grpc::ByteBuffer& message,
                                         const InferRequest& request) {
  const std::vector<Payload>& raw = request.raw;
  if (raw.empty() ||
      raw.size() != static_cast<size_t>(request.head.inputs_size()))
    return std::nullopt;
  size_t largest = 0;
  for (size_t i = 1; i < raw.size(); ++i)
    if (raw[i].size() > raw[largest].size()) largest = i;
  const int64_t end = request.raw_ends[largest];
  std::optional<Envelope> envelope =
      EnvelopeOf(message, end - raw[largest].size(), end);
  if (!envelope) return std::nullopt;
  if (const std::string& id = request.head.id(); !id.empty()) {
    const auto id_end = static_cast<size_t>(request.id_end);
    if (id_end > envelope->head.size()) return std::nullopt;
    envelope->id_begin = id_end - id.size();
    envelope->id_bytes = id.size();
  }
  return RawEnvelope{largest, *std::move(envelope)};
}

void Record(const absl::Status& status, absl::Duration duration,
            const CallReport& report, ModelStats& stats) {
  const auto add = [](ModelStats::Duration& sum, absl::Duration time) {
    ++sum.count;
    sum.ns += static_cast<uint64_t>(
        std::max<int64_t>(0, absl::ToInt64Nanoseconds(time)));
  };
  if (!status.ok()) return add(stats.fail, duration);
  add(stats.success, duration);
  add(stats.input,
      report.phases[CallReport::kUnpack] + report.phases[CallReport::kCompile]);
  add(stats.infer, report.phases[CallReport::kCopy]);
  add(stats.output, report.phases[CallReport::kPack]);
  stats.last_ms = static_cast<uint64_t>(absl::ToUnixMillis(absl::Now()));
}

// The log has it, where there is one and the client said nothing else.
void NoteId(const std::string& id, CallReport& report) {
  if (report.wants_shapes && report.trace.request_id.empty())
    report.trace.request_id = id;
}

absl::Status Serve(InferRequest& request, std::optional<RawEnvelope> around,
                   grpc::ByteBuffer& response, const CallContext& call,
                   const Model& model, const Regions& regions) {
  Inference inference(model, regions, call);
  AXIS_RETURN_IF_ERROR(inference.Unpack(request));
  AXIS_RETURN_IF_ERROR(inference.Compile(request.head));
  Payload data;
  if (around)
    if (auto recipe = inference.TakeRecipe(*std::move(around), data))
      return Follow(*call.recipes->Keep(*std::move(recipe)), /*id=*/"",
                    std::move(data), response, call);
  AXIS_RETURN_IF_ERROR(inference.Execute());
  return inference.Pack(response);
}

}  // namespace

absl::Status Infer(grpc::ByteBuffer& message, InferRequest& request,
                   grpc::ByteBuffer& response, const CallContext& call,
                   const Repository& repository, const Regions& regions) {
  const absl::Time begin = absl::Now();
  if (const Served served = ServeByRecipe(oip::ModelInferRequest::descriptor(),
                                          message, response, call);
      served.recipe != nullptr) {
    const Model& model = *served.recipe->model;
    NoteId(served.id, call.report);
    if (!served.status.ok()) {
      request.head.set_model_name(model.spec().name);
      request.head.set_id(served.id);
    }
    Record(served.status, absl::Now() - begin, call.report, model.stats());
    return served.status;
  }
  std::optional<RawEnvelope> around;
  {
    const Phase phase(call, CallReport::kUnpack);
    AXIS_RETURN_IF_ERROR(UnpackInfer(message, call.lease, request));
    if (call.recipes != nullptr) around = RawEnvelopeOf(message, request);
    message.Clear();  // the contents share its slices
  }
  NoteId(request.head.id(), call.report);
  AXIS_ASSIGN_OR_RETURN(
      const Model* const model,
      repository.Find(request.head.model_name(), request.head.model_version(),
                      "model_name"));
  const absl::Status status =
      Serve(request, std::move(around), response, call, *model, regions);
  Record(status, absl::Now() - begin, call.report, model->stats());
  return status;
}

}  // namespace axis
