#include "server/shm/regions.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/status.h"

namespace axis {
namespace {

// The name that shm_open wants: clients may leave the "/" out.
absl::StatusOr<std::string> PosixName(const std::string& key) {
  const bool has_slash = !key.empty() && key[0] == '/';
  std::string name = has_slash ? key : absl::StrCat("/", key);
  if (name.size() < 2 || name.size() > NAME_MAX || name == "/." ||
      name == "/.." || name.find('/', 1) != std::string::npos ||
      name.find('\0') != std::string::npos)
    return FieldError(
        "key", absl::StrCat("must be a name of POSIX shared "
                            "memory, of at most ",
                            NAME_MAX - 1, " bytes without a slash inside"));
  return name;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Region>> Region::Map(const std::string& key,
                                                    uint64_t offset,
                                                    uint64_t byte_size) {
  AXIS_ASSIGN_OR_RETURN(const std::string name, PosixName(key));
  if (byte_size == 0) return FieldError("byte_size", "must be at least 1");
  if (byte_size > INT64_MAX || offset > INT64_MAX - byte_size)
    return FieldError("byte_size", "must end, with the offset, below 2^63");
  const auto region = std::shared_ptr<Region>(
      new Region(key, offset, static_cast<int64_t>(byte_size)));
  region->file_ = shm_open(name.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK, 0);
  if (region->file_ < 0)
    return absl::NotFoundError(
        absl::StrCat("key: no shared memory object ", name,
                     " can be opened: ", std::strerror(errno)));
  struct stat info;
  if (fstat(region->file_, &info) != 0 || !S_ISREG(info.st_mode))
    return FieldError("key", "must name a shared memory object");
  if (offset + byte_size > static_cast<uint64_t>(info.st_size))
    return FieldError(
        "byte_size",
        absl::StrCat("must end, with the offset, within the ", info.st_size,
                     " bytes of the object, ends at ", offset + byte_size));
  region->device_ = info.st_dev;
  region->inode_ = info.st_ino;
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t before = offset % page;
  // Whole pages, so that the guard has them all.
  const size_t bytes = (before + byte_size + page - 1) / page * page;
  void* const mapping =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, region->file_,
           static_cast<off_t>(offset - before));
  if (mapping == MAP_FAILED)
    return absl::ResourceExhaustedError(
        absl::StrCat("the region cannot be mapped: ", std::strerror(errno)));
  // Where the system lets shared memory have huge pages.
  madvise(mapping, bytes, MADV_HUGEPAGE);
  region->mapping_ = mapping;
  region->mapped_bytes_ = bytes;
  region->data_ = static_cast<std::byte*>(mapping) + before;
  region->guard_ =
      std::make_unique<FaultGuard>(static_cast<std::byte*>(mapping), bytes);
  if (!region->guard_->ok())
    return absl::ResourceExhaustedError("too many regions are mapped");
  return region;
}

Region::~Region() {
  guard_.reset();  // first: the addresses may soon be somebody else's
  if (mapping_ != nullptr) munmap(mapping_, mapped_bytes_);
  if (file_ >= 0) close(file_);
}

bool Region::IsWhole() const {
  struct stat info;
  return !guard_->torn() && fstat(file_, &info) == 0 &&
         offset_ + static_cast<uint64_t>(byte_size_) <=
             static_cast<uint64_t>(info.st_size);
}

bool Span::Overlaps(const Span& other) const {
  const Region& a = *region;
  const Region& b = *other.region;
  if (a.device_ != b.device_ || a.inode_ != b.inode_) return false;
  // Region::Map checked that none of these passes 2^63.
  const uint64_t a_begin = a.offset_ + static_cast<uint64_t>(begin);
  const uint64_t b_begin = b.offset_ + static_cast<uint64_t>(other.begin);
  return a_begin < b_begin + static_cast<uint64_t>(other.size) &&
         b_begin < a_begin + static_cast<uint64_t>(size);
}

absl::Status Regions::CheckAllowed() const {
  if (allowed_) return absl::OkStatus();
  return absl::UnimplementedError(
      "this server takes no shared memory; it does with "
      "--allow_shared_memory");
}

absl::Status Regions::Register(const std::string& name, const std::string& key,
                               uint64_t offset, uint64_t byte_size) {
  AXIS_RETURN_IF_ERROR(CheckAllowed());
  if (name.empty()) return FieldError("name", "must not be empty");
  const std::lock_guard lock(mutex_);
  if (regions_.contains(name))
    return absl::AlreadyExistsError(
        absl::StrCat("name: there is a region called ", name));
  if (regions_.size() >= kMaxRegions)
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", kMaxRegions, " regions, which is the most"));
  AXIS_ASSIGN_OR_RETURN(auto region, Region::Map(key, offset, byte_size));
  regions_.emplace(name, std::move(region));
  return absl::OkStatus();
}

absl::Status Regions::Unregister(const std::string& name) {
  AXIS_RETURN_IF_ERROR(CheckAllowed());
  std::map<std::string, std::shared_ptr<Region>> gone;  // unmapped unlocked
  const std::lock_guard lock(mutex_);
  if (name.empty()) {
    gone.swap(regions_);
  } else if (auto node = regions_.extract(name)) {
    gone.insert(std::move(node));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Region>> Regions::Find(
    const std::string& name) const {
  AXIS_ASSIGN_OR_RETURN(const auto found, List(name));
  const std::shared_ptr<Region>& region = found.begin()->second;
  if (region->IsWhole()) return region;
  return absl::FailedPreconditionError(
      absl::StrCat("the object of shared memory region ", name,
                   " has become smaller; register it anew"));
}

absl::StatusOr<std::map<std::string, std::shared_ptr<Region>>> Regions::List(
    const std::string& name) const {
  AXIS_RETURN_IF_ERROR(CheckAllowed());
  const std::lock_guard lock(mutex_);
  if (name.empty()) return regions_;
  const auto it = regions_.find(name);
  if (it == regions_.end())
    return absl::NotFoundError(
        absl::StrCat("there is no shared memory region called ", name));
  return std::map<std::string, std::shared_ptr<Region>>{*it};
}

}  // namespace axis
