#include "server/models/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "kernels/status.h"

namespace axis {

absl::StatusOr<File> File::Open(const std::string& path) {
  // Without O_NONBLOCK a pipe would keep us waiting.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return absl::NotFoundError(
        absl::StrCat(path, " cannot be opened: ", std::strerror(errno)));
  struct stat info;
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(descriptor);
    return absl::NotFoundError(absl::StrCat(path, " is not a regular file"));
  }
  return File(descriptor, info.st_size);
}

File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::StatusOr<std::string> File::Read(int64_t begin, int64_t size) const {
  if (begin > size_ || size > size_ - begin)
    return absl::DataLossError(absl::StrCat("the file has ", size_,
                                            " bytes, but ", size, " from ",
                                            begin, " on are needed"));
  std::string bytes(static_cast<size_t>(size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n =
        pread(descriptor_, bytes.data() + done, bytes.size() - done,
              static_cast<off_t>(begin) + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return absl::DataLossError("the file became shorter");
    done += static_cast<size_t>(n);
  }
  return bytes;
}

absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     int64_t max_bytes) {
  AXIS_ASSIGN_OR_RETURN(const File file, File::Open(path));
  if (file.size() > max_bytes)
    return absl::InvalidArgumentError(absl::StrCat(
        "must have at most ", max_bytes, " bytes, has ", file.size()));
  return file.Read(0, file.size());
}

}  // namespace axis
