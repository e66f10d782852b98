#include "client/axisctl/connection.h"

#include <cstdio>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/axisctl/files.h"

namespace axis {

absl::StatusOr<std::unique_ptr<Client>> Connect(const CommandLine& line) {
  Client::Options options;
  options.timeout = line.timeout;
  options.stream_threshold_bytes = line.stream_above;
  // A person would rather know at once.
  options.wait_for_ready = false;
  if (line.tls_ca.empty() && line.tls_cert.empty())
    return std::make_unique<Client>(line.server, options);
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
  return std::make_unique<Client>(line.server, options);
}

ExitStatus Complain(absl::string_view message) {
  std::fprintf(stderr, "axisctl: %s\n", std::string(message).c_str());
  return kFailed;
}

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

}  // namespace axis
