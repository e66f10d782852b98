#include "client/axisctl/ops/ops_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/text_format.h"
#include "proto/first_error.h"

namespace axis {
namespace {

using google::protobuf::FieldDescriptor;

std::string Text(const FirstError& error) {
  std::string text;
  // Where there is but one line its number tells nothing.
  if (error.line() > 1) absl::StrAppend(&text, "line ", error.line(), ", ");
  if (error.column() > 0)
    absl::StrAppend(&text, "column ", error.column(), ": ");
  return absl::StrCat(text, error.what());
}

absl::StatusOr<const FieldDescriptor*> FindOp(absl::string_view name) {
  const FieldDescriptor* const field =
      pb::Op::descriptor()->FindFieldByName(std::string(name));
  if (field != nullptr) return field;
  return absl::InvalidArgumentError(absl::StrCat(
      "'", name, "' must be an op, one of ", absl::StrJoin(OpNames(), ", ")));
}

}  // namespace

std::vector<std::string> OpNames() {
  const google::protobuf::Descriptor& op = *pb::Op::descriptor();
  std::vector<std::string> names(static_cast<size_t>(op.field_count()));
  for (int i = 0; i < op.field_count(); ++i) names[i] = op.field(i)->name();
  return names;
}

absl::StatusOr<std::vector<pb::Op>> ParseOps(
    absl::Span<const std::string> words) {
  std::vector<pb::Op> ops;
  for (size_t i = 0; i < words.size(); i += 2) {
    const absl::StatusOr<const FieldDescriptor*> field = FindOp(words[i]);
    if (!field.ok()) return field.status();
    if (i + 1 == words.size())
      return absl::InvalidArgumentError(absl::StrCat(
          words[i],
          " must be followed by its attributes, '' for none; axisctl "
          "help ",
          words[i], " lists them"));
    pb::Op op;
    google::protobuf::TextFormat::Parser parser;
    FirstError error;
    parser.RecordErrorsTo(&error);
    if (!parser.ParseFromString(
            words[i + 1], op.GetReflection()->MutableMessage(&op, *field)))
      return absl::InvalidArgumentError(
          absl::StrCat("attributes of ", words[i], ": ", Text(error)));
    ops.push_back(std::move(op));
  }
  return ops;
}

absl::StatusOr<std::string> DescribeOp(absl::string_view name) {
  const absl::StatusOr<const FieldDescriptor*> field = FindOp(name);
  if (!field.ok()) return field.status();
  // From the comment before the message to the brace at the margin after it.
  const absl::string_view text = kOpsProto;
  const size_t message = text.find(
      absl::StrCat("\nmessage ", (*field)->message_type()->name(), " {"));
  const size_t begin = text.rfind("\n\n", message);
  const size_t end = text.find("\n}\n", message);
  if (message == text.npos || begin == text.npos || end == text.npos)
    return (*field)->message_type()->DebugString();
  return std::string(text.substr(begin + 2, end - begin + 1));
}

}  // namespace axis
