#include "server/guard/access.h"

#include <google/protobuf/text_format.h>
#include <grpc/grpc_security_constants.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "kernels/status.h"
#include "proto/first_error.h"
#include "server/models/file.h"

namespace axis {
namespace {

constexpr int64_t kMaxFileBytes = 1 << 20;
constexpr int kMaxRules = 1024;

using Hash = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

Hash HashOf(const std::string& token) {
  Hash hash;
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(),
         hash.data());
  return hash;
}

absl::Status Wrong(absl::string_view field, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("--access_rules: ", field, ": ", why));
}

std::vector<std::string> Strings(const std::vector<grpc::string_ref>& refs) {
  std::vector<std::string> strings;
  strings.reserve(refs.size());
  for (const grpc::string_ref& ref : refs)
    strings.emplace_back(ref.data(), ref.size());
  return strings;
}

}  // namespace

struct Access::Rules {
  struct Rule {
    std::string name;
    std::vector<Hash> tokens;
    std::vector<std::string> certificates;
    std::vector<int> allow;
  };
  std::vector<Rule> rules;
};

namespace {

absl::StatusOr<Hash> ToHash(const std::string& hex) {
  const bool good = hex.size() == size_t{2} * SHA256_DIGEST_LENGTH &&
                    std::all_of(hex.begin(), hex.end(), [](unsigned char c) {
                      return absl::ascii_isxdigit(c);
                    });
  // Not what was found: it may be the token itself.
  if (!good)
    return absl::InvalidArgumentError(
        "must be the 64 hex digits of a SHA-256, such as of `printf %s "
        "\"$TOKEN\" | sha256sum`");
  const std::string bytes = absl::HexStringToBytes(hex);
  Hash hash;
  std::copy(bytes.begin(), bytes.end(), hash.begin());
  return hash;
}

}  // namespace

Credentials CredentialsOf(const grpc::ServerContext& context) {
  Credentials shown;
  const auto auth = context.auth_context();
  shown.certificate =
      Strings(auth->FindPropertyValues(GRPC_X509_SAN_PROPERTY_NAME));
  if (shown.certificate.empty())
    shown.certificate =
        Strings(auth->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME));
  const auto& metadata = context.client_metadata();
  if (const auto it = metadata.find("authorization"); it != metadata.end()) {
    absl::string_view value(it->second.data(), it->second.size());
    constexpr absl::string_view kScheme = "bearer ";
    if (absl::StartsWithIgnoreCase(value, kScheme))
      shown.token =
          std::string(absl::StripAsciiWhitespace(value.substr(kScheme.size())));
  }
  return shown;
}

absl::StatusOr<std::unique_ptr<Access>> Access::Load(const std::string& path) {
  std::unique_ptr<Access> access(new Access(path));
  AXIS_RETURN_IF_ERROR(access->Reload().status());
  return access;
}

Access::~Access() = default;

absl::StatusOr<bool> Access::Reload() {
  absl::StatusOr<std::string> text = ReadFile(path_, kMaxFileBytes);
  if (!text.ok()) {
    if (std::exchange(is_missing_, true)) return false;
    return text.status();
  }
  is_missing_ = false;
  if (seen_ == *text) return false;
  seen_ = *text;
  pb::AccessRules parsed;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(*text, &parsed))
    // Not what the parser says: that may quote the file.
    return Wrong(absl::StrCat("line ", error.line()),
                 "must be part of an axis.v1.AccessRules in text format");
  if (parsed.rules_size() == 0 || parsed.rules_size() > kMaxRules)
    return Wrong("rules", absl::StrCat("must be 1 to ", kMaxRules, ", are ",
                                       parsed.rules_size()));
  auto rules = std::make_shared<Rules>();
  for (int i = 0; i < parsed.rules_size(); ++i) {
    const pb::AccessRule& from = parsed.rules(i);
    const std::string path = absl::StrCat("rules[", i, "]");
    if (from.name().empty())
      return Wrong(absl::StrCat(path, ".name"), "must not be empty");
    if (from.allow_size() == 0)
      return Wrong(absl::StrCat(path, ".allow"), "must name a MethodGroup");
    if (from.token_sha256_size() + from.certificates_size() == 0)
      return Wrong(path, "must have a token_sha256 or a certificate");
    Rules::Rule& to = rules->rules.emplace_back();
    to.name = from.name();
    to.certificates = {from.certificates().begin(), from.certificates().end()};
    to.allow = {from.allow().begin(), from.allow().end()};
    for (int k = 0; k < from.token_sha256_size(); ++k) {
      const absl::StatusOr<Hash> hash = ToHash(from.token_sha256(k));
      if (!hash.ok())
        return Wrong(absl::StrCat(path, ".token_sha256[", k, "]"),
                     hash.status().message());
      to.tokens.push_back(*hash);
    }
  }
  const std::lock_guard lock(mutex_);
  rules_ = std::move(rules);
  return true;
}

absl::StatusOr<std::string> Access::Check(const Credentials& credentials,
                                          pb::MethodGroup group) const {
  std::shared_ptr<const Rules> rules;
  {
    const std::lock_guard lock(mutex_);
    rules = rules_;
  }
  const Hash hash = HashOf(credentials.token);
  const std::string* name = nullptr;
  bool allowed = false;
  for (const Rules::Rule& rule : rules->rules) {
    // Every token is looked at, to its end.
    bool knows = false;
    for (const Hash& token : rule.tokens)
      knows |= CRYPTO_memcmp(token.data(), hash.data(), hash.size()) == 0;
    knows &= !credentials.token.empty();
    for (const std::string& shown : credentials.certificate)
      knows |= std::find(rule.certificates.begin(), rule.certificates.end(),
                         shown) != rule.certificates.end();
    const bool allows = std::find(rule.allow.begin(), rule.allow.end(),
                                  group) != rule.allow.end();
    if (knows && (name == nullptr || (allows && !allowed))) name = &rule.name;
    allowed |= knows && allows;
  }
  if (allowed) return *name;
  if (name != nullptr)
    return absl::PermissionDeniedError(
        absl::StrCat("'", *name, "' may not call this; ", "it would need ",
                     pb::MethodGroup_Name(group)));
  return absl::UnauthenticatedError(
      "the metadata `authorization` must be `Bearer TOKEN` with a token, or "
      "TLS show a certificate, that this server knows");
}

}  // namespace axis
