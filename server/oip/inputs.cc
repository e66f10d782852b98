#include "server/oip/inputs.h"

#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/elements/datatypes.h"
#include "server/oip/message/contents.h"
#include "server/oip/message/region.h"

namespace axis {
namespace {

using InputTensor = oip::ModelInferRequest::InferInputTensor;

// Parameter `name` of an input: its own, or the request's "<input>.<name>".
absl::StatusOr<std::optional<std::string>> Description(
    const InputTensor& tensor, const Parameters& of_request, const char* name) {
  AXIS_ASSIGN_OR_RETURN(auto own, StringParameter(tensor.parameters(), name));
  if (own) return own;
  return StringParameter(of_request, absl::StrCat(tensor.name(), ".", name));
}

absl::Status CheckParameters(const InputTensor& tensor) {
  for (const auto& [name, value] : tensor.parameters()) {
    bool known = IsOfClients(name) || IsOfRegion(name);
    for (const char* ours : {"data_type", "shape", "binary_data_size"})
      known |= name == ours;
    if (!known)
      return FieldError(absl::StrCat("parameters.", name),
                        "is no parameter of an input");
  }
  return absl::OkStatus();
}

// The header of a tensor that says of itself what it holds; nullopt if it does
// not.
absl::StatusOr<std::optional<pb::Tensor>> DecodeDescription(
    const InputTensor& tensor, const Parameters& of_request) {
  AXIS_ASSIGN_OR_RETURN(const auto type_name,
                        Description(tensor, of_request, "data_type"));
  AXIS_ASSIGN_OR_RETURN(const auto extents,
                        Description(tensor, of_request, "shape"));
  if (!type_name && !extents) return std::nullopt;
  if (!type_name || !extents)
    return FieldError("parameters",
                      "must hold both data_type and shape, or neither");
  pb::Tensor header;
  const auto type = TypeOfName(*type_name);
  if (!type || *type == pb::DATA_TYPE_STRING)
    return FieldError(
        "parameters.data_type",
        absl::StrCat("must be a type such as U4 or F8E4M3, is ", *type_name));
  header.set_data_type(*type);
  if (!extents->empty()) {
    for (const absl::string_view text : absl::StrSplit(*extents, ',')) {
      int64_t extent;
      if (!absl::SimpleAtoi(text, &extent) || header.shape_size() == kMaxRank)
        return FieldError("parameters.shape",
                          absl::StrCat("must be at most ", kMaxRank,
                                       " numbers such as 2,3, is ", *extents));
      header.add_shape(extent);
    }
  }
  if (tensor.datatype() != "UINT8" || tensor.shape_size() != 1)
    return FieldError("datatype",
                      "must be UINT8, and shape the number of bytes, where "
                      "parameters say what it holds");
  return header;
}

absl::StatusOr<pb::Tensor> DecodeHeader(const InputTensor& tensor) {
  pb::Tensor header;
  const auto type = TypeOfDatatype(tensor.datatype());
  if (!type)
    return FieldError("datatype",
                      absl::StrCat("must be BOOL, UINT8 to UINT64, INT8 to "
                                   "INT64, FP16, FP32, FP64, BF16 or BYTES, "
                                   "is '",
                                   tensor.datatype(), "'"));
  header.set_data_type(*type);
  // One extent too many is told by what reads the header.
  const int rank = std::min(tensor.shape_size(), kMaxRank + 1);
  header.mutable_shape()->Add(tensor.shape().begin(),
                              tensor.shape().begin() + rank);
  return header;
}

absl::Status CheckConstraints(const ModelTensor& model,
                              const pb::Tensor& header) {
  if (model.type && *model.type != header.data_type())
    return FieldError("datatype", absl::StrCat("must be ", NameOf(*model.type),
                                               " for this model, is ",
                                               NameOf(header.data_type())));
  if (!model.shape || model.is_index) return absl::OkStatus();
  bool fits = model.shape->size() == static_cast<size_t>(header.shape_size());
  for (int i = 0; fits && i < header.shape_size(); ++i) {
    const int64_t extent = (*model.shape)[static_cast<size_t>(i)];
    fits = extent == -1 || extent == header.shape(i);
  }
  if (fits) return absl::OkStatus();
  return FieldError(
      "shape",
      absl::StrCat("must be [", absl::StrJoin(*model.shape, ", "),
                   "] for this model, -1 standing for any extent; is [",
                   absl::StrJoin(header.shape(), ", "), "]"));
}

// Decodes inputs one after the other.
class Decoder {
 public:
  Decoder(pb::Layout layout, InferRequest& request, const Regions& regions,
          const CallContext& call)
      : layout_(layout), request_(request), regions_(regions), call_(call) {}

  absl::StatusOr<InferInput> Next(size_t i, const ModelTensor& model) {
    const InputTensor& tensor = request_.head.inputs(static_cast<int>(i));
    AXIS_RETURN_IF_ERROR(CheckParameters(tensor));
    InferInput out{};
    pb::Tensor header;
    AXIS_ASSIGN_OR_RETURN(
        auto description,
        DecodeDescription(tensor, request_.head.parameters()));
    out.described = description.has_value();
    if (out.described) {
      header = *std::move(description);
    } else {
      AXIS_ASSIGN_OR_RETURN(header, DecodeHeader(tensor));
    }
    if (!model.is_index) header.set_layout(layout_);
    TensorSize size;
    AXIS_RETURN_IF_ERROR(axis::DecodeHeader(header, size).status());
    AXIS_RETURN_IF_ERROR(CheckConstraints(model, header));
    if (out.described && tensor.shape(0) != size.bytes)
      return FieldError("shape", absl::StrCat("must be [", size.bytes,
                                              "], the number of bytes"));
    AXIS_ASSIGN_OR_RETURN(out.span, FindSpan(tensor.parameters(), regions_));
    AXIS_ASSIGN_OR_RETURN(Payload data,
                          Data(i, header.data_type(), size.elements, out.span));
    if (out.span &&
        (model.is_index || header.data_type() == pb::DATA_TYPE_STRING)) {
      // What is read more than once must not change in between.
      AXIS_ASSIGN_OR_RETURN(data, OwnCopy(data, call_));
      out.span.reset();
    }
    AXIS_ASSIGN_OR_RETURN(
        out.input, DecodeTensor({std::move(header), std::move(data), 0, {}, 0},
                                call_.lease, call_.pool));
    return out;
  }

  // All raw contents must have been for somebody.
  absl::Status End() const {
    if (next_raw_ == request_.raw.size()) return absl::OkStatus();
    return WrongRawCount();
  }

 private:
  absl::Status WrongRawCount() const {
    return FieldError(
        "raw_input_contents",
        absl::StrCat("must have one entry for each input that is not in shared "
                     "memory, has ",
                     request_.raw.size()));
  }

  absl::StatusOr<Payload> Data(size_t i, pb::DataType type, int64_t elements,
                               const std::optional<Span>& span) {
    std::optional<Payload>& contents = request_.contents[i];
    if (span) {
      if (contents)
        return FieldError("contents", "must be unset for shared memory");
      return Payload(grpc::Slice(span->data(), static_cast<size_t>(span->size),
                                 grpc::Slice::STATIC_SLICE));
    }
    if (!request_.raw.empty()) {
      if (contents)
        return FieldError("contents",
                          "must be unset where there are raw_input_contents");
      if (next_raw_ == request_.raw.size()) return WrongRawCount();
      return std::move(request_.raw[next_raw_++]);
    }
    if (contents)
      return PackContents(*contents, type, elements, call_.lease, call_.pool);
    if (elements == 0) return Payload();
    return FieldError("contents",
                      "must be set, or raw_input_contents, or shared memory");
  }

  const pb::Layout layout_;
  InferRequest& request_;
  const Regions& regions_;
  const CallContext& call_;
  size_t next_raw_ = 0;
};

}  // namespace

absl::StatusOr<Payload> OwnCopy(const Payload& data, const CallContext& call) {
  AXIS_RETURN_IF_ERROR(call.lease.Take(data.size()));
  Buffer buffer = NewBuffer(call.pool, data.size());
  std::byte* next = buffer.data;
  for (const auto span : data.Spans()) {
    std::memcpy(next, span.data(), span.size());
    next += span.size();
  }
  return std::move(buffer.payload);
}

absl::StatusOr<std::vector<std::optional<InferInput>>> DecodeInputs(
    const Model& model, pb::Layout layout, InferRequest& request,
    const Regions& regions, const CallContext& call) {
  const std::vector<ModelTensor>& wanted = model.spec().inputs;
  std::vector<std::optional<InferInput>> inputs(wanted.size());
  Decoder decoder(layout, request, regions, call);
  for (size_t i = 0; i < static_cast<size_t>(request.head.inputs_size()); ++i) {
    const std::string& name = request.head.inputs(static_cast<int>(i)).name();
    size_t k = 0;
    while (k < wanted.size() && wanted[k].name != name) ++k;
    const std::string path = absl::StrCat("inputs[", i, "]");
    if (k == wanted.size())
      return FieldError(path + ".name",
                        absl::StrCat("is no input of model ", model.spec().name,
                                     ": '", name, "'"));
    if (inputs[k])
      return FieldError(path + ".name",
                        absl::StrCat("names input ", name, " again"));
    absl::StatusOr<InferInput> input = decoder.Next(i, wanted[k]);
    if (!input.ok())
      return FieldOf(input.status()).empty() ||
                     FieldOf(input.status()) == "raw_input_contents"
                 ? input.status()
                 : InField(path, input.status());
    inputs[k] = *std::move(input);
    inputs[k]->index = i;
  }
  AXIS_RETURN_IF_ERROR(decoder.End());
  for (size_t k = 0; k < wanted.size(); ++k)
    if (!inputs[k] && !wanted[k].is_optional)
      return FieldError("inputs", absl::StrCat("must hold ", wanted[k].name));
  return inputs;
}

InferInput ConstantInput(const Constant& constant) {
  pb::Tensor header;
  header.set_data_type(constant.type);
  header.mutable_shape()->Assign(constant.shape.begin(), constant.shape.end());
  TensorSize size;
  InferInput input;
  input.input = *DecodeHeader(header, size);  // checked when it was loaded
  input.input.data = constant.data;
  return input;
}

}  // namespace axis
