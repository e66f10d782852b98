// axisctl: rearranges a .npy file by way of axisd. A filter; see Usage().
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/axisctl/command_line.h"
#include "client/axisctl/connection.h"
#include "client/axisctl/files.h"
#include "client/axisctl/filter.h"
#include "client/axisctl/ops/ops_text.h"
#include "client/axisctl/show/show.h"
#include "client/axisctl/status/status.h"
#include "client/npy/npy.h"
#include "client/tune.h"

namespace axis {
namespace {

std::string Usage() {
  return absl::StrCat(
      R"(axisctl [FLAGS] OP 'ATTRIBUTES' [OP 'ATTRIBUTES']... < IN.npy > OUT.npy
axisctl show --shape=2,3 OP 'ATTRIBUTES' [OP 'ATTRIBUTES']...
axisctl inspect FILE.npy
axisctl health [SERVICE]
axisctl status
axisctl top
axisctl help [OP]

  axisctl transpose 'order: [0, 2, 3, 1]' < nchw.npy > nhwc.npy
  axisctl --output=part%d.npy variadic_split 'axis: 1 split_lengths: [64, -1]' \
    < a.npy

Exit status: 0 done (health: serving), 1 refused by the server (health: not
serving), 2 anything else.

Ops: )",
      absl::StrJoin(OpNames(), ", "), "\n\nFlags:\n", DescribeFlags());
}

ExitStatus Inspect(const std::string& name) {
  absl::StatusOr<File> file = File::Open(name);
  if (!file.ok()) return Complain(file.status().message());
  std::string begun(kMaxNpyHeaderBytes, '\0');
  const absl::StatusOr<size_t> got = file->Read(begun.data(), begun.size());
  if (!got.ok()) return Complain(got.status().message());
  begun.resize(*got);
  const absl::StatusOr<NpyHeader> header = ParseNpyHeader(begun);
  if (!header.ok())
    return Complain(absl::StrCat(name, ": ", header.status().message()));
  const std::string type =
      header->data_type == pb::DATA_TYPE_UNSPECIFIED
          ? "raw items; say with --dtype what they are"
          : std::string(pb::DataType_Name(header->data_type)).substr(10);
  std::printf(
      "descr   %s%s\ntype    %s\nshape   [%s]\norder   %s\n"
      "data    %lld bytes from byte %zu\n",
      header->descr.c_str(), header->big_endian ? " (big-endian)" : "",
      type.c_str(), absl::StrJoin(header->shape, ", ").c_str(),
      header->fortran_order ? "Fortran, first axis fastest"
                            : "C, last axis fastest",
      static_cast<long long>(header->data_bytes), header->data_offset);
  uint64_t size = static_cast<uint64_t>(file->size());
  if (size == 0) {  // not known before its end: a pipe
    for (absl::StatusOr<size_t> more = begun.size(); more.ok() && *more > 0;
         more = file->Read(begun.data(), begun.size()))
      size += *more;
  }
  const uint64_t bytes = size - header->data_offset;
  if (bytes != static_cast<uint64_t>(header->data_bytes))
    return Complain(
        absl::StrCat(name, ": ", WrongNpySize(*header, bytes).message()));
  return kDone;
}

ExitStatus Health(const CommandLine& line) {
  const absl::StatusOr<std::unique_ptr<Client>> client = Connect(line);
  if (!client.ok()) return Complain(client.status().message());
  const absl::StatusOr<bool> serving =
      (*client)->Health(line.words.size() > 1 ? line.words[1] : "");
  if (!serving.ok()) return Report(serving.status(), line);
  std::puts(*serving ? "SERVING" : "NOT_SERVING");
  return *serving ? kDone : kRefused;
}

ExitStatus Help(const CommandLine& line) {
  if (line.words.size() < 2) {
    std::fputs(Usage().c_str(), stdout);
    return kDone;
  }
  const absl::StatusOr<std::string> text = DescribeOp(line.words[1]);
  if (!text.ok()) return Complain(text.status().message());
  std::fputs(text->c_str(), stdout);
  return kDone;
}

ExitStatus Main(int argc, char** argv) {
  const absl::StatusOr<CommandLine> line = ParseCommandLine(argc, argv);
  if (!line.ok()) return Complain(line.status().message());
  const std::vector<std::string>& words = line->words;
  if (words.empty()) {
    std::fputs(Usage().c_str(), stderr);
    return kFailed;
  }
  if (words[0] == "version") {
    std::puts("axisctl " AXIS_VERSION);
    return kDone;
  }
  if (words[0] == "help") return Help(*line);
  if (words[0] == "health") return Health(*line);
  if (words[0] == "status") return Status(*line, /*again=*/false);
  if (words[0] == "top") return Status(*line, /*again=*/true);
  if (words[0] == "show") return Show(*line);
  if (words[0] != "inspect") return Filter(*line);
  if (words.size() != 2) return Complain("inspect must have one FILE.npy");
  return Inspect(words[1]);
}

}  // namespace
}  // namespace axis

int main(int argc, char** argv) {
  axis::TuneProcess();
  return axis::Main(argc, argv);
}
