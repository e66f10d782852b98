#include "server/oip/answers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/status.h"
#include "server/elements/datatypes.h"

namespace axis {
namespace {

constexpr char kPlatform[] = "axisd";

std::string NameOf(const ModelTensor& tensor) {
  if (tensor.is_index) return "INT64";  // any integer type will do
  if (!tensor.type) return "ANY";
  const absl::string_view name = DatatypeOf(*tensor.type);
  return name.empty() ? "UINT8" : std::string(name);
}

oip::DataType ConfigTypeOf(const ModelTensor& tensor) {
  const std::string name = NameOf(tensor);
  oip::DataType type;
  const bool is_known = oip::DataType_Parse(
      name == "BYTES" ? "TYPE_STRING" : absl::StrCat("TYPE_", name), &type);
  return is_known ? type : oip::TYPE_INVALID;
}

// -1 alone for any rank; also where the bytes of a narrow type travel.
Shape DimsOf(const ModelTensor& tensor) {
  if (!tensor.shape || (tensor.type && DatatypeOf(*tensor.type).empty()))
    return {-1};
  return *tensor.shape;
}

void Describe(const ModelTensor& tensor,
              oip::ModelMetadataResponse::TensorMetadata& out) {
  out.set_name(tensor.name);
  out.set_datatype(NameOf(tensor));
  const Shape dims = DimsOf(tensor);
  out.mutable_shape()->Assign(dims.begin(), dims.end());
}

template <class Out>
void Configure(const ModelTensor& tensor, Out& out) {
  out.set_name(tensor.name);
  out.set_data_type(ConfigTypeOf(tensor));
  const Shape dims = DimsOf(tensor);
  out.mutable_dims()->Assign(dims.begin(), dims.end());
}

void Set(const ModelStats::Duration& sum, oip::StatisticDuration& out) {
  out.set_count(sum.count);
  out.set_ns(sum.ns);
}

void AddStatistics(const Model& model, oip::ModelStatisticsResponse& response) {
  const ModelStats& stats = model.stats();
  auto& out = *response.add_model_stats();
  out.set_name(model.spec().name);
  out.set_version(kModelVersion);
  out.set_last_inference(stats.last_ms);
  out.set_inference_count(stats.success.count);
  out.set_execution_count(stats.success.count);
  auto& sums = *out.mutable_inference_stats();
  Set(stats.success, *sums.mutable_success());
  Set(stats.fail, *sums.mutable_fail());
  sums.mutable_queue()->set_count(stats.success.count);
  Set(stats.input, *sums.mutable_compute_input());
  Set(stats.infer, *sums.mutable_compute_infer());
  Set(stats.output, *sums.mutable_compute_output());
}

}  // namespace

absl::StatusOr<oip::ServerLiveResponse> Answer(const oip::ServerLiveRequest&,
                                               const Facts&) {
  oip::ServerLiveResponse response;
  response.set_live(true);
  return response;
}

absl::StatusOr<oip::ServerReadyResponse> Answer(const oip::ServerReadyRequest&,
                                                const Facts& facts) {
  oip::ServerReadyResponse response;
  response.set_ready(facts.is_ready);
  return response;
}

absl::StatusOr<oip::ModelReadyResponse> Answer(
    const oip::ModelReadyRequest& request, const Facts& facts) {
  AXIS_RETURN_IF_ERROR(
      facts.repository.Find(request.name(), request.version(), "name")
          .status());
  oip::ModelReadyResponse response;
  response.set_ready(facts.is_ready);
  return response;
}

absl::StatusOr<oip::ServerMetadataResponse> Answer(
    const oip::ServerMetadataRequest&, const Facts& facts) {
  oip::ServerMetadataResponse response;
  response.set_name(kPlatform);
  response.set_version(AXIS_VERSION);
  for (const char* extension : {"model_configuration", "statistics",
                                "parameters", "binary_tensor_data"})
    response.add_extensions(extension);
  if (facts.regions.allowed()) response.add_extensions("system_shared_memory");
  return response;
}

absl::StatusOr<oip::ModelMetadataResponse> Answer(
    const oip::ModelMetadataRequest& request, const Facts& facts) {
  AXIS_ASSIGN_OR_RETURN(
      const Model* const model,
      facts.repository.Find(request.name(), request.version(), "name"));
  oip::ModelMetadataResponse response;
  response.set_name(request.name());
  response.add_versions(std::string(kModelVersion));
  response.set_platform(kPlatform);
  for (const ModelTensor& tensor : model->spec().inputs)
    Describe(tensor, *response.add_inputs());
  for (const ModelTensor& tensor : model->spec().outputs)
    Describe(tensor, *response.add_outputs());
  (*response.mutable_properties())["source"] = model->spec().source;
  return response;
}

absl::StatusOr<oip::ModelConfigResponse> Answer(
    const oip::ModelConfigRequest& request, const Facts& facts) {
  AXIS_ASSIGN_OR_RETURN(
      const Model* const model,
      facts.repository.Find(request.name(), request.version(), "name"));
  oip::ModelConfigResponse response;
  oip::ModelConfig& config = *response.mutable_config();
  config.set_name(request.name());
  config.set_platform(kPlatform);
  config.set_backend(kPlatform);
  for (const ModelTensor& tensor : model->spec().inputs) {
    oip::ModelInput& input = *config.add_input();
    Configure(tensor, input);
    input.set_optional(tensor.is_optional);
  }
  for (const ModelTensor& tensor : model->spec().outputs)
    Configure(tensor, *config.add_output());
  return response;
}

absl::StatusOr<oip::ModelStatisticsResponse> Answer(
    const oip::ModelStatisticsRequest& request, const Facts& facts) {
  oip::ModelStatisticsResponse response;
  if (request.name().empty()) {
    for (const auto& [name, model] : facts.repository.models())
      AddStatistics(*model, response);
    return response;
  }
  AXIS_ASSIGN_OR_RETURN(
      const Model* const model,
      facts.repository.Find(request.name(), request.version(), "name"));
  AddStatistics(*model, response);
  return response;
}

absl::StatusOr<oip::RepositoryIndexResponse> Answer(
    const oip::RepositoryIndexRequest& request, const Facts& facts) {
  oip::RepositoryIndexResponse response;
  if (!request.repository_name().empty()) return response;
  for (const auto& [name, model] : facts.repository.models()) {
    auto& out = *response.add_models();
    out.set_name(name);
    out.set_version(kModelVersion);
    out.set_state("READY");
  }
  return response;
}

absl::StatusOr<oip::SystemSharedMemoryStatusResponse> Answer(
    const oip::SystemSharedMemoryStatusRequest& request, const Facts& facts) {
  AXIS_ASSIGN_OR_RETURN(const auto regions, facts.regions.List(request.name()));
  oip::SystemSharedMemoryStatusResponse response;
  for (const auto& [name, region] : regions) {
    auto& out = (*response.mutable_regions())[name];
    out.set_name(name);
    out.set_key(region->key());
    out.set_offset(region->offset());
    out.set_byte_size(static_cast<uint64_t>(region->byte_size()));
  }
  return response;
}

absl::StatusOr<oip::SystemSharedMemoryRegisterResponse> Answer(
    const oip::SystemSharedMemoryRegisterRequest& request, const Facts& facts) {
  AXIS_RETURN_IF_ERROR(facts.regions.Register(
      request.name(), request.key(), request.offset(), request.byte_size()));
  return oip::SystemSharedMemoryRegisterResponse();
}

absl::StatusOr<oip::SystemSharedMemoryUnregisterResponse> Answer(
    const oip::SystemSharedMemoryUnregisterRequest& request,
    const Facts& facts) {
  AXIS_RETURN_IF_ERROR(facts.regions.Unregister(request.name()));
  return oip::SystemSharedMemoryUnregisterResponse();
}

}  // namespace axis
