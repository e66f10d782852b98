// What the Open Inference Protocol tells of the server and its models.
#pragma once

#include "absl/status/statusor.h"
#include "inference/inference_service.pb.h"
#include "inference/model.pb.h"
#include "inference/shared_memory.pb.h"
#include "server/models/repository.h"
#include "server/shm/regions.h"

namespace axis {

namespace oip = ::inference;

// What the answers are about.
struct Facts {
  const Repository& repository;
  Regions& regions;
  bool is_ready;
};

// One overload for each request. A model that is not there is kNotFound.
absl::StatusOr<oip::ServerLiveResponse> Answer(const oip::ServerLiveRequest&,
                                               const Facts&);
absl::StatusOr<oip::ServerReadyResponse> Answer(const oip::ServerReadyRequest&,
                                                const Facts&);
absl::StatusOr<oip::ModelReadyResponse> Answer(const oip::ModelReadyRequest&,
                                               const Facts&);
absl::StatusOr<oip::ServerMetadataResponse> Answer(
    const oip::ServerMetadataRequest&, const Facts&);
absl::StatusOr<oip::ModelMetadataResponse> Answer(
    const oip::ModelMetadataRequest&, const Facts&);
absl::StatusOr<oip::ModelConfigResponse> Answer(const oip::ModelConfigRequest&,
                                                const Facts&);
absl::StatusOr<oip::ModelStatisticsResponse> Answer(
    const oip::ModelStatisticsRequest&, const Facts&);
absl::StatusOr<oip::RepositoryIndexResponse> Answer(
    const oip::RepositoryIndexRequest&, const Facts&);
absl::StatusOr<oip::SystemSharedMemoryStatusResponse> Answer(
    const oip::SystemSharedMemoryStatusRequest&, const Facts&);
absl::StatusOr<oip::SystemSharedMemoryRegisterResponse> Answer(
    const oip::SystemSharedMemoryRegisterRequest&, const Facts&);
absl::StatusOr<oip::SystemSharedMemoryUnregisterResponse> Answer(
    const oip::SystemSharedMemoryUnregisterRequest&, const Facts&);

}  // namespace axis
