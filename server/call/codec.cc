#include "server/call/codec.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/elements/strings.h"
#include "server/elements/types.h"
#include "server/elements/values.h"

namespace axis {
namespace {

absl::StatusOr<Op> ToOp(const pb::Transpose& m) {
  return Transpose{{m.order().begin(), m.order().end()}};
}
absl::StatusOr<Op> ToOp(const pb::ShuffleChannels& m) {
  return ShuffleChannels{m.has_axis() ? m.axis() : 1,
                         m.has_group() ? m.group() : 1};
}
absl::StatusOr<Op> ToOp(const pb::VariadicSplit& m) {
  return VariadicSplit{m.axis(),
                       {m.split_lengths().begin(), m.split_lengths().end()}};
}
absl::StatusOr<Op> ToOp(const pb::Shuffle& m) {
  if (!pb::Shuffle::Direction_IsValid(m.direction()))
    return FieldError("direction",
                      absl::StrCat("must be a Direction of axis.v1, is ",
                                   static_cast<int>(m.direction())));
  return Shuffle{m.has_axis() ? m.axis() : 1, m.group_size(),
                 m.direction() == pb::Shuffle::DIRECTION_BACKWARD};
}
absl::StatusOr<Op> ToOp(const pb::Op& m) {
  switch (m.op_case()) {
    case pb::Op::kTranspose:
      return ToOp(m.transpose());
    case pb::Op::kShuffleChannels:
      return ToOp(m.shuffle_channels());
    case pb::Op::kVariadicSplit:
      return ToOp(m.variadic_split());
    case pb::Op::kShuffle: {
      absl::StatusOr<Op> op = ToOp(m.shuffle());
      if (!op.ok()) return InField("shuffle", op.status());
      return op;
    }
    case pb::Op::OP_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("must be set to one of the ops of axis.v1");
}

template <class Request>
absl::StatusOr<std::vector<Op>> OneOp(const Request& request) {
  if (!request.has_op())
    return FieldError("op",
                      "must be set; an empty message is the op with its "
                      "defaults");
  absl::StatusOr<Op> op = ToOp(request.op());
  if (!op.ok()) return InField("op", op.status());
  return std::vector<Op>{*std::move(op)};
}

template <class Request>
absl::StatusOr<std::vector<Op>> Chain(const Request& request) {
  std::vector<Op> ops;
  for (const pb::Op& message : request.ops()) {
    absl::StatusOr<Op> op = ToOp(message);
    if (!op.ok())
      return InField(absl::StrCat("ops[", ops.size(), "]"), op.status());
    ops.push_back(*std::move(op));
  }
  return ops;
}

absl::StatusOr<Layout> ToLayout(const pb::Tensor& header) {
  if (!pb::Layout_IsValid(header.layout()))
    return FieldError("layout",
                      absl::StrCat("must be a Layout of axis.v1, is ",
                                   static_cast<int>(header.layout())));
  if (header.layout() <= pb::LAYOUT_NCX) return kRowMajor;
  const int bits = BitsOf(header.data_type());
  if (header.shape_size() < 2 || bits == 0 || bits % 8 != 0)
    return FieldError(
        "layout",
        absl::StrCat("must be row-major for rank ", header.shape_size(),
                     " and type ", NameOf(header.data_type()),
                     "; others need rank 2 or more and a type of "
                     "whole bytes"));
  switch (header.layout()) {
    case pb::LAYOUT_NCX4C:
      return Layout{4};
    case pb::LAYOUT_NCX8C:
      return Layout{8};
    case pb::LAYOUT_NCX16C:
      return Layout{16};
    default:
      return kChannelsLast;
  }
}

absl::StatusOr<Payload> ReadValues(const WireTensor& tensor, int64_t elements,
                                   Admission::Lease& lease, BufferPool& pool) {
  AXIS_RETURN_IF_ERROR(lease.Take(tensor.values_cost));
  const pb::Values values = ParseValues(*tensor.values);
  const pb::DataType type = tensor.header.data_type();
  AXIS_ASSIGN_OR_RETURN(const int64_t bytes,
                        ValuesBytes(values, type, elements));
  AXIS_RETURN_IF_ERROR(lease.Take(bytes));
  Buffer buffer = NewBuffer(pool, bytes);
  AXIS_RETURN_IF_ERROR(
      PackValues(values, type, {buffer.data, static_cast<size_t>(bytes)}));
  return std::move(buffer.payload);
}

}  // namespace

void AppendShape(const Input& input, std::string& shapes) {
  constexpr size_t kEnough = 256;
  if (shapes.size() > kEnough) return;
  absl::StrAppend(&shapes, shapes.empty() ? "" : " ", NameOf(input.data_type),
                  "[", absl::StrJoin(input.spec.shape, ","), "]");
  if (shapes.size() > kEnough) shapes += " ...";
}

absl::StatusOr<Input> DecodeHeader(const pb::Tensor& header, TensorSize& size) {
  const pb::DataType type = header.data_type();
  AXIS_RETURN_IF_ERROR(SizeOf(type, header.shape()).status());
  AXIS_ASSIGN_OR_RETURN(const Layout layout, ToLayout(header));
  AXIS_ASSIGN_OR_RETURN(size, SizeOf(type, header.shape(), layout));
  return Input{
      .spec = {{header.shape().begin(), header.shape().end()},
               type == pb::DATA_TYPE_STRING ? kPlaceBits : BitsOf(type),
               layout},
      .data_type = type,
      .layout = header.layout(),
      .spelled = false,
      .data = {},
      .strings = {}};
}

absl::StatusOr<Input> DecodeTensor(WireTensor tensor, Admission::Lease& lease,
                                   BufferPool& pool) {
  TensorSize size;
  AXIS_ASSIGN_OR_RETURN(Input input, DecodeHeader(tensor.header, size));
  input.spelled = tensor.values.has_value();
  if (input.spelled) {
    if (input.spec.layout != kRowMajor)
      return FieldError("layout", "must be row-major for values");
    AXIS_ASSIGN_OR_RETURN(input.data,
                          ReadValues(tensor, size.elements, lease, pool));
  } else if (tensor.data) {
    input.data = *std::move(tensor.data);
  }
  if (input.data_type == pb::DATA_TYPE_STRING) {
    input.strings = std::move(input.data);
    AXIS_ASSIGN_OR_RETURN(
        input.data, FindStrings(input.strings, size.elements, lease, pool));
  } else if (input.data.size() != size.bytes) {
    return FieldError("data", absl::StrCat("must hold ", size.bytes,
                                           " bytes for this type, shape and "
                                           "layout, holds ",
                                           input.data.size()));
  }
  return input;
}

pb::Tensor EncodeHeader(const Input& like, const Shape& shape) {
  pb::Tensor header;
  header.set_data_type(like.data_type);
  header.mutable_shape()->Assign(shape.begin(), shape.end());
  header.set_layout(like.layout);
  return header;
}

OutTensor EncodeTensor(const Input& like, pb::Tensor header, Payload data,
                       BufferPool& pool) {
  if (like.data_type == pb::DATA_TYPE_STRING)
    data = GatherStrings(like.strings, data, pool);
  if (!like.spelled) return {std::move(header), std::move(data)};
  int64_t elements = 1;
  for (const int64_t extent : header.shape()) elements *= extent;
  // What came as values was packed into one piece, and so are its outputs.
  const auto spans = data.Spans();
  UnpackValues(like.data_type, elements,
               spans.empty() ? std::span<const std::byte>() : spans[0],
               *header.mutable_values());
  return {std::move(header), {}};
}

absl::StatusOr<std::vector<Op>> DecodeOps(const pb::TransposeRequest& m) {
  return OneOp(m);
}
absl::StatusOr<std::vector<Op>> DecodeOps(const pb::ShuffleChannelsRequest& m) {
  return OneOp(m);
}
absl::StatusOr<std::vector<Op>> DecodeOps(const pb::VariadicSplitRequest& m) {
  return OneOp(m);
}
absl::StatusOr<std::vector<Op>> DecodeOps(const pb::ShuffleRequest& m) {
  return OneOp(m);
}
absl::StatusOr<std::vector<Op>> DecodeOps(const pb::RunPipelineRequest& m) {
  return Chain(m);
}
absl::StatusOr<std::vector<Op>> DecodeOps(const pb::StreamPipelineRequest& m) {
  return Chain(m);
}

absl::StatusOr<std::vector<Op>> DecodeOps(const pb::Program& m) {
  return Chain(m);
}

std::string PipelineOpName(const Op& op, size_t k) {
  constexpr const char* kNames[] = {"transpose", "shuffle_channels",
                                    "variadic_split", "shuffle",
                                    "equal_split"};  // of models alone
  static_assert(std::variant_size_v<Op> == std::size(kNames));
  return absl::StrCat("ops[", k, "].", kNames[op.index()]);
}

}  // namespace axis
