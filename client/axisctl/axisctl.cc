// axisctl: rearranges a .npy file by way of axisd. A filter; see Usage().
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "client/axisctl/command_line.h"
#include "client/axisctl/files.h"
#include "client/axisctl/ops_text.h"
#include "client/axisctl/progress.h"
#include "client/client.h"
#include "client/npy.h"

namespace axis {
namespace {

enum ExitStatus { kDone = 0, kRefused = 1, kFailed = 2 };

std::string Usage() {
  return absl::StrCat(
      R"(axisctl [FLAGS] OP 'ATTRIBUTES' [OP 'ATTRIBUTES']... < IN.npy > OUT.npy
axisctl inspect FILE.npy
axisctl health [SERVICE]
axisctl help [OP]

  axisctl transpose 'order: [0, 2, 3, 1]' < nchw.npy > nhwc.npy
  axisctl --output=part%d.npy variadic_split 'axis: 1 split_lengths: [64, -1]' \
    < a.npy

Exit status: 0 done (health: serving), 1 refused by the server (health: not
serving), 2 anything else.

Ops: )",
      absl::StrJoin(OpNames(), ", "), "\n\nFlags:\n", DescribeFlags());
}

ExitStatus Complain(absl::string_view message) {
  std::fprintf(stderr, "axisctl: %s\n", std::string(message).c_str());
  return kFailed;
}

// Tells a refusal from a failure.
ExitStatus Report(const absl::Status& status, const CommandLine& line) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated: {
      const std::string field = Client::FieldOf(status);
      const bool named = status.message().substr(0, field.size()) == field;
      std::fprintf(stderr, "%s%s\n", named ? "" : (field + ": ").c_str(),
                   std::string(status.message()).c_str());
      return kRefused;
    }
    case absl::StatusCode::kUnavailable:
      return Complain(absl::StrCat(
          status.message(), "\nIs axisd running at --server=", line.server,
          ", is it ready, and do both sides use TLS, or neither?"));
    default:
      return Complain(absl::StrCat(absl::StatusCodeToString(status.code()),
                                   ": ", status.message()));
  }
}

absl::StatusOr<Client::Options> ClientOptions(const CommandLine& line) {
  Client::Options options;
  options.timeout = line.timeout;
  // A person would rather know at once.
  options.wait_for_ready = false;
  if (line.tls_ca.empty() && line.tls_cert.empty()) return options;
  grpc::SslCredentialsOptions& tls = options.tls.emplace();
  for (const auto& [name, pem] :
       {std::pair(&line.tls_ca, &tls.pem_root_certs),
        std::pair(&line.tls_cert, &tls.pem_cert_chain),
        std::pair(&line.tls_key, &tls.pem_private_key)}) {
    if (name->empty()) continue;
    absl::StatusOr<std::string> text = ReadFile(*name);
    if (!text.ok()) return text.status();
    if (text->find("-----BEGIN ") == text->npos)
      return absl::InvalidArgumentError(
          absl::StrCat(*name, " must be a PEM file"));
    *pem = *std::move(text);
  }
  return options;
}

void PrintLatencies(std::vector<absl::Duration> latencies, size_t bytes) {
  absl::Duration total;
  for (const absl::Duration latency : latencies) total += latency;
  std::sort(latencies.begin(), latencies.end());
  const auto quantile = [&](size_t percent) {
    return absl::ToDoubleMilliseconds(
        latencies[(latencies.size() - 1) * percent / 100]);
  };
  std::fprintf(
      stderr, "%zu calls: p50 %.3f ms, p99 %.3f ms, %.3f GB/s (both ways)\n",
      latencies.size(), quantile(50), quantile(99),
      static_cast<double>(bytes) * static_cast<double>(latencies.size()) /
          absl::ToDoubleSeconds(total) / 1e9);
}

absl::StatusOr<pb::RunPipelineResponse> RunAll(
    Client& client, const pb::RunPipelineRequest& request,
    const CommandLine& line) {
  absl::StatusOr<pb::RunPipelineResponse> response;
  std::vector<absl::Duration> latencies;
  {
    Progress progress("waiting", line.repeat > 1 ? line.repeat : 0);
    for (int i = 0; i < line.repeat; ++i) {
      const absl::Time begin = absl::Now();
      response = client.Run(request);
      latencies.push_back(absl::Now() - begin);
      if (!response.ok()) return response;
      progress.Set(i + 1);
    }
  }
  if (line.repeat > 1)
    PrintLatencies(std::move(latencies),
                   request.ByteSizeLong() + response->ByteSizeLong());
  return response;
}

absl::Status WriteOutputs(const pb::RunPipelineResponse& response,
                          const std::string& output) {
  const bool numbered = output.find("%d") != std::string::npos;
  if (response.outputs_size() > 1 && !numbered)
    return absl::InvalidArgumentError(absl::StrCat(
        "there are ", response.outputs_size(),
        " outputs; name their files with --output, %d for the number"));
  for (int i = 0; i < response.outputs_size(); ++i) {
    const pb::Tensor& tensor = response.outputs(i);
    const absl::StatusOr<std::string> header = NpyHeaderOf(tensor);
    if (!header.ok()) return header.status();
    const absl::Status status = WriteFile(
        output.empty() ? "-"
                       : absl::StrReplaceAll(output, {{"%d", absl::StrCat(i)}}),
        *header, tensor.data());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

ExitStatus Filter(const CommandLine& line) {
  absl::StatusOr<std::vector<pb::Op>> ops = ParseOps(line.words);
  if (!ops.ok()) return Complain(ops.status().message());
  const absl::StatusOr<Client::Options> options = ClientOptions(line);
  if (!options.ok()) return Complain(options.status().message());
  if (isatty(STDIN_FILENO))
    return Complain("must read a .npy file: axisctl ... < in.npy");
  if (line.output.empty() && isatty(STDOUT_FILENO))
    return Complain("must not write to a terminal: axisctl ... > out.npy");
  absl::StatusOr<std::string> file = ReadFile("-");
  if (!file.ok()) return Complain(file.status().message());
  absl::StatusOr<pb::Tensor> tensor = ReadNpy(*std::move(file), line.reading);
  if (!tensor.ok())
    return Complain(
        absl::StrCat("standard input: ", tensor.status().message()));

  pb::RunPipelineRequest request;
  *request.add_inputs() = *std::move(tensor);
  request.mutable_ops()->Add(ops->begin(), ops->end());
  Client client(line.server, *options);
  const absl::StatusOr<pb::RunPipelineResponse> response =
      RunAll(client, request, line);
  if (!response.ok()) return Report(response.status(), line);
  const absl::Status written = WriteOutputs(*response, line.output);
  return written.ok() ? kDone : Complain(written.message());
}

ExitStatus Inspect(const std::string& name) {
  const absl::StatusOr<std::string> file = ReadFile(name);
  if (!file.ok()) return Complain(file.status().message());
  const absl::StatusOr<NpyHeader> header = ParseNpyHeader(*file);
  if (!header.ok())
    return Complain(absl::StrCat(name, ": ", header.status().message()));
  const std::string type =
      header->data_type == pb::DATA_TYPE_UNSPECIFIED
          ? "raw items; say with --dtype what they are"
          : pb::DataType_Name(header->data_type).substr(10);
  std::printf(
      "descr   %s%s\ntype    %s\nshape   [%s]\norder   %s\n"
      "data    %lld bytes from byte %zu\n",
      header->descr.c_str(), header->big_endian ? " (big-endian)" : "",
      type.c_str(), absl::StrJoin(header->shape, ", ").c_str(),
      header->fortran_order ? "Fortran, first axis fastest"
                            : "C, last axis fastest",
      static_cast<long long>(header->data_bytes), header->data_offset);
  const size_t bytes = file->size() - header->data_offset;
  if (bytes != static_cast<uint64_t>(header->data_bytes))
    return Complain(absl::StrCat(name, ": must hold ", header->data_bytes,
                                 " bytes of data, holds ", bytes));
  return kDone;
}

ExitStatus Health(const CommandLine& line) {
  const absl::StatusOr<Client::Options> options = ClientOptions(line);
  if (!options.ok()) return Complain(options.status().message());
  const absl::StatusOr<bool> serving =
      Client(line.server, *options)
          .Health(line.words.size() > 1 ? line.words[1] : "");
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
  if (words[0] != "inspect") return Filter(*line);
  if (words.size() != 2) return Complain("inspect must have one FILE.npy");
  return Inspect(words[1]);
}

}  // namespace
}  // namespace axis

int main(int argc, char** argv) { return axis::Main(argc, argv); }
