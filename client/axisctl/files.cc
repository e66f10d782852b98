#include "client/axisctl/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/axisctl/progress.h"

namespace axis {
namespace {

// What is read or written between two looks at the progress.
constexpr size_t kPieceBytes = size_t{1} << 20;

}  // namespace

File::File(std::string name, int fd, bool owned)
    : name_(std::move(name)), fd_(fd), owned_(owned) {
  struct stat info {};
  if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
    size_ = info.st_size;
}

File::File(File&& other) noexcept
    : name_(std::move(other.name_)),
      fd_(std::exchange(other.fd_, -1)),
      owned_(std::exchange(other.owned_, false)),
      size_(other.size_) {}

File& File::operator=(File&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(fd_, other.fd_);
  std::swap(owned_, other.owned_);
  std::swap(size_, other.size_);
  return *this;
}

File::~File() {
  if (owned_ && fd_ >= 0) close(fd_);
}

absl::Status File::Failed(absl::string_view verb) const {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", verb, " ", name_));
}

absl::StatusOr<File> File::Open(const std::string& name) {
  if (name == "-") return File("standard input", STDIN_FILENO, false);
  File file(name, open(name.c_str(), O_RDONLY | O_CLOEXEC), true);
  if (file.fd_ < 0) return file.Failed("read");
  return file;
}

absl::StatusOr<File> File::Create(const std::string& name) {
  if (name == "-") return File("standard output", STDOUT_FILENO, false);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  File file(name, open(name.c_str(), kFlags, 0666), true);
  if (file.fd_ < 0) return file.Failed("write");
  return file;
}

absl::StatusOr<size_t> File::Read(char* out, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t got = read(fd_, out + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read");
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

absl::Status File::Write(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return Failed("write");
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return absl::OkStatus();
}

absl::Status File::Close() {
  if (!std::exchange(owned_, false)) return absl::OkStatus();
  return close(std::exchange(fd_, -1)) == 0 ? absl::OkStatus()
                                            : Failed("write");
}

absl::StatusOr<std::string> ReadRest(File& file, std::string begun) {
  const absl::Status too_large = absl::OutOfRangeError(
      absl::StrCat(file.name(), " must have at most ", kMaxFileBytes,
                   " bytes to be read whole"));
  if (file.size() > static_cast<int64_t>(kMaxFileBytes)) return too_large;
  Progress progress("reading", file.size());
  // One more than the file has, so that its end is seen without growing.
  std::string bytes = std::move(begun);
  size_t size = bytes.size();
  bytes.resize(std::max(size, static_cast<size_t>(file.size())) + 1);
  while (true) {
    if (size > kMaxFileBytes) return too_large;
    if (size == bytes.size()) bytes.resize(size + std::max(size, kPieceBytes));
    const size_t piece = std::min(bytes.size() - size, kPieceBytes);
    const absl::StatusOr<size_t> got = file.Read(&bytes[size], piece);
    if (!got.ok()) return got.status();
    size += *got;
    progress.Set(static_cast<int64_t>(size));
    if (*got < piece) break;
  }
  bytes.resize(size);
  return bytes;
}

absl::StatusOr<std::string> ReadFile(const std::string& name) {
  absl::StatusOr<File> file = File::Open(name);
  if (!file.ok()) return file.status();
  return ReadRest(*file, "");
}

}  // namespace axis
