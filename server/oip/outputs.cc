#include "server/oip/outputs.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/status.h"
#include "server/elements/datatypes.h"
#include "server/elements/types.h"
#include "server/oip/message/region.h"

namespace axis {
namespace {

using RequestedOutput = oip::ModelInferRequest::InferRequestedOutputTensor;

absl::Status CheckParameters(const RequestedOutput& output) {
  for (const auto& [name, value] : output.parameters()) {
    if (name == "classification")
      return absl::UnimplementedError(
          "outputs.parameters.classification: no model here classifies");
    if (!IsOfClients(name) && !IsOfRegion(name) && name != "binary_data")
      return FieldError(absl::StrCat("parameters.", name),
                        "is no parameter of an output");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<WantedOutput>> DecodeOutputs(
    const oip::ModelInferRequest& request, const Binding& binding,
    const Regions& regions) {
  std::vector<WantedOutput> wanted;
  if (request.outputs().empty()) {
    for (size_t i = 0; i < binding.outputs.size(); ++i)
      wanted.push_back({i, {}, {}});
    return wanted;
  }
  std::map<absl::string_view, size_t> unasked;
  for (size_t i = 0; i < binding.outputs.size(); ++i)
    unasked.emplace(binding.outputs[i], i);
  for (const RequestedOutput& output : request.outputs()) {
    const std::string path = absl::StrCat("outputs[", wanted.size(), "]");
    const auto it = unasked.find(output.name());
    if (it == unasked.end())
      return FieldError(
          path + ".name",
          absl::StrCat("is no output of this request, or named twice: '",
                       output.name(), "'"));
    WantedOutput& out = wanted.emplace_back();
    out.result = it->second;
    unasked.erase(it);
    absl::Status status = CheckParameters(output);
    if (status.ok()) {
      auto span = FindSpan(output.parameters(), regions);
      if (span.ok() && *span) {
        out.span = **span;
        out.region = RegionOf(output.parameters());
      }
      status = span.status();
    }
    if (!status.ok())
      return FieldOf(status).empty() ? status : InField(path, status);
  }
  return wanted;
}

void DescribeOutput(pb::DataType type, const Shape& shape, bool described,
                    int64_t bytes,
                    oip::ModelInferResponse::InferOutputTensor& output) {
  const absl::string_view datatype = DatatypeOf(type);
  if (!described && !datatype.empty()) {
    output.set_datatype(std::string(datatype));
    output.mutable_shape()->Assign(shape.begin(), shape.end());
    return;
  }
  output.set_datatype("UINT8");
  output.add_shape(bytes);
  Parameters& parameters = *output.mutable_parameters();
  parameters["data_type"].set_string_param(NameOf(type));
  parameters["shape"].set_string_param(absl::StrJoin(shape, ","));
}

}  // namespace axis
