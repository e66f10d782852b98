#include "client/axisctl/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "client/axisctl/progress.h"

namespace axis {
namespace {

// What one system call moves; between two the progress is noted.
constexpr size_t kPieceBytes = size_t{1} << 20;

// The standard files have no name.
std::string Named(const std::string& name, absl::string_view standard) {
  return name == "-" ? std::string(standard) : name;
}

absl::Status Failed(absl::string_view verb, absl::string_view name) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", verb, " ", name));
}

// An open file, closed at the end unless it is one of the standard ones.
class File {
 public:
  File(const std::string& name, int standard, int flags)
      : fd_(name == "-" ? standard : open(name.c_str(), flags, 0666)),
        owned_(name != "-") {}
  ~File() {
    if (owned_ && fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int fd() const { return fd_; }

  // Some file systems say only now that a write has failed.
  bool Close() {
    if (!owned_) return true;
    owned_ = false;
    return close(fd_) == 0;
  }

 private:
  const int fd_;
  bool owned_;
};

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& name) {
  const File file(name, STDIN_FILENO, O_RDONLY | O_CLOEXEC);
  const std::string named = Named(name, "standard input");
  struct stat info {};
  if (file.fd() < 0 || fstat(file.fd(), &info) != 0)
    return Failed("read", named);
  const int64_t total = S_ISREG(info.st_mode) ? info.st_size : 0;
  const absl::Status too_large = absl::OutOfRangeError(absl::StrCat(
      named, " must have at most ", kMaxFileBytes, " bytes to fit a message"));
  if (total > static_cast<int64_t>(kMaxFileBytes)) return too_large;

  Progress progress("reading", total);
  // One more than the file has, so that its end is seen without growing.
  std::string bytes(static_cast<size_t>(total) + 1, '\0');
  size_t size = 0;
  while (true) {
    if (size > kMaxFileBytes) return too_large;
    if (size == bytes.size()) bytes.resize(size + std::max(size, kPieceBytes));
    const ssize_t got = read(file.fd(), &bytes[size],
                             std::min(bytes.size() - size, kPieceBytes));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read", named);
    if (got == 0) break;
    size += static_cast<size_t>(got);
    progress.Set(static_cast<int64_t>(size));
  }
  bytes.resize(size);
  return bytes;
}

absl::Status WriteFile(const std::string& name, absl::string_view head,
                       absl::string_view body) {
  File file(name, STDOUT_FILENO, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
  const std::string named = Named(name, "standard output");
  if (file.fd() < 0) return Failed("write", named);
  Progress progress("writing", static_cast<int64_t>(head.size() + body.size()));
  int64_t done = 0;
  for (absl::string_view rest : {head, body}) {
    while (!rest.empty()) {
      const ssize_t put =
          write(file.fd(), rest.data(), std::min(rest.size(), kPieceBytes));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return Failed("write", named);
      rest.remove_prefix(static_cast<size_t>(put));
      progress.Set(done += put);
    }
  }
  return file.Close() ? absl::OkStatus() : Failed("write", named);
}

}  // namespace axis
