#include "server/guard/certificates.h"

#include <fcntl.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/status.h"
#include "server/models/file.h"

namespace axis {
namespace {

constexpr int64_t kMaxFileBytes = 1 << 20;

// The shortest that gRPC allows.
constexpr unsigned kWatchSeconds = 1;

template <class T, void (*kFree)(T*)>
struct Free {
  void operator()(T* object) const { kFree(object); }
};
using Bio = std::unique_ptr<BIO, Free<BIO, BIO_free_all>>;
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY, EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509, X509_free>>;
using Context = std::unique_ptr<SSL_CTX, Free<SSL_CTX, SSL_CTX_free>>;

// A key under a password is refused; OpenSSL would ask for it in a terminal.
int NoPassword(char*, int, int, void*) { return -1; }

Bio Reader(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// `flag` must be ..., and why OpenSSL says that it is not.
absl::Status Wrong(absl::string_view flag, absl::string_view must) {
  const char* const why = ERR_reason_error_string(ERR_get_error());
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat(
      flag, ": must be ", must,
      why == nullptr ? "" : ", is not: ", why == nullptr ? "" : why));
}

// The next certificate, null at the end.
// Errors: what is there is none
absl::StatusOr<Certificate> Next(BIO* in, absl::string_view flag) {
  ERR_clear_error();
  Certificate next(PEM_read_bio_X509_AUX(in, nullptr, NoPassword, nullptr));
  if (next == nullptr &&
      ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
    return Wrong(flag, "certificates in PEM");
  ERR_clear_error();
  return next;
}

absl::Time ToTime(const ASN1_TIME* time) {
  tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return absl::UnixEpoch();
  return absl::FromTM(parts, absl::UTCTimeZone());
}

struct Texts {
  std::string certificate, key, client_ca;
  bool operator==(const Texts&) const = default;
};

// Whether OpenSSL, and so gRPC, will take `texts`; when the certificate ends.
absl::StatusOr<absl::Time> Try(const Texts& texts, bool has_client_ca) {
  ERR_clear_error();
  const Context context(SSL_CTX_new(TLS_server_method()));
  Bio in = Reader(texts.certificate);
  AXIS_ASSIGN_OR_RETURN(const Certificate own,
                        Next(in.get(), "--tls_certificate"));
  if (own == nullptr) return Wrong("--tls_certificate", "a certificate in PEM");
  if (SSL_CTX_use_certificate(context.get(), own.get()) != 1)
    return Wrong("--tls_certificate", "a certificate that OpenSSL takes");
  for (;;) {
    AXIS_ASSIGN_OR_RETURN(const Certificate more,
                          Next(in.get(), "--tls_certificate"));
    if (more == nullptr) break;
  }
  in = Reader(texts.key);
  const Key key(
      PEM_read_bio_PrivateKey(in.get(), nullptr, NoPassword, nullptr));
  if (key == nullptr)
    return Wrong("--tls_key", "a private key in PEM without a password");
  if (SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1)
    return Wrong("--tls_key", "the key of --tls_certificate");
  if (has_client_ca) {
    in = Reader(texts.client_ca);
    AXIS_ASSIGN_OR_RETURN(Certificate root, Next(in.get(), "--tls_client_ca"));
    if (root == nullptr) return Wrong("--tls_client_ca", "certificates in PEM");
    while (root != nullptr) {
      AXIS_ASSIGN_OR_RETURN(root, Next(in.get(), "--tls_client_ca"));
    }
  }
  return ToTime(X509_get0_notAfter(own.get()));
}

// A file in memory that has a name for gRPC and is replaced at once.
class Slot {
 public:
  Slot() = default;
  ~Slot() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  std::string path() const {
    return absl::StrCat("/proc/self/fd/", descriptor_);
  }

  absl::Status Put(const std::string& text) {
    const int fresh = memfd_create("axisd-tls", MFD_CLOEXEC);
    // gRPC tells by the seconds of the time whether what it has read, piece by
    // piece, belongs together: so no two contents may have the same.
    const timespec times[2] = {{++version_, 0}, {version_, 0}};
    const bool good =
        fresh >= 0 &&
        write(fresh, text.data(), text.size()) ==
            static_cast<ssize_t>(text.size()) &&
        futimens(fresh, times) == 0 &&
        (descriptor_ < 0 || dup3(fresh, descriptor_, O_CLOEXEC) >= 0);
    if (!good) {
      const std::string why = std::strerror(errno);
      if (fresh >= 0) close(fresh);
      return absl::UnavailableError(
          absl::StrCat("cannot keep certificates in memory: ", why));
    }
    if (descriptor_ < 0) {
      descriptor_ = fresh;
    } else {
      close(fresh);
    }
    return absl::OkStatus();
  }

 private:
  int descriptor_ = -1;
  time_t version_ = 1000000000;
};

class WatchedCertificates final : public Certificates {
 public:
  explicit WatchedCertificates(const CertificateFiles& files) : files_(files) {}

  std::shared_ptr<grpc::ServerCredentials> Credentials(
      bool requires_client_certificate) const override {
    using grpc::experimental::FileWatcherCertificateProvider;
    const bool has_ca = !files_.client_ca.empty();
    // Key and certificate in one file cannot be of two versions.
    auto provider =
        has_ca ? std::make_shared<FileWatcherCertificateProvider>(
                     pair_.path(), pair_.path(), roots_.path(), kWatchSeconds)
               : std::make_shared<FileWatcherCertificateProvider>(
                     pair_.path(), pair_.path(), kWatchSeconds);
    grpc::experimental::TlsServerCredentialsOptions options(provider);
    options.watch_identity_key_cert_pairs();
    options.set_cert_request_type(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
    if (has_ca) {
      options.watch_root_certs();
      options.set_cert_request_type(
          requires_client_certificate
              ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
              : GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
    }
    return grpc::experimental::TlsServerCredentials(options);
  }

  absl::StatusOr<bool> Reload() override {
    Texts texts;
    const bool has_ca = !files_.client_ca.empty();
    for (const auto& [path, text] :
         {std::pair(&files_.certificate, &texts.certificate),
          std::pair(&files_.key, &texts.key),
          std::pair(&files_.client_ca, &texts.client_ca)}) {
      if (path->empty()) continue;
      absl::StatusOr<std::string> read = ReadFile(*path, kMaxFileBytes);
      // In the middle of a rotation a file may be gone: said once, too.
      if (!read.ok()) {
        if (std::exchange(is_missing_, true)) return false;
        return read.status();
      }
      *text = *std::move(read);
    }
    is_missing_ = false;
    if (texts == seen_) return false;
    seen_ = texts;
    AXIS_ASSIGN_OR_RETURN(const absl::Time expiry, Try(texts, has_ca));
    AXIS_RETURN_IF_ERROR(
        pair_.Put(absl::StrCat(texts.key, "\n", texts.certificate)));
    if (has_ca) AXIS_RETURN_IF_ERROR(roots_.Put(texts.client_ca));
    expiry_ = expiry;
    return true;
  }

  absl::Time expiry() const override { return expiry_; }

 private:
  const CertificateFiles files_;
  Slot pair_, roots_;
  Texts seen_;  // good or not
  bool is_missing_ = false;
  absl::Time expiry_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Certificates>> Certificates::Load(
    const CertificateFiles& files) {
  auto certificates = std::make_unique<WatchedCertificates>(files);
  AXIS_RETURN_IF_ERROR(certificates->Reload().status());
  return certificates;
}

}  // namespace axis
