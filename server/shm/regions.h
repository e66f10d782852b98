// Regions of POSIX shared memory, which clients register and whose bytes
// requests name instead of sending them.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/shm/fault_guard.h"

namespace axis {

// A part of a shared memory object, mapped as long as this lives. Others may
// write to it, and even make it smaller, at any time.
class Region {
 public:
  // Maps it.
  // Errors: kNotFound          no such object
  //         "key"              not a name of POSIX shared memory
  //         "offset", "byte_size"  beyond the end of the object
  //         kResourceExhausted it cannot be mapped
  static absl::StatusOr<std::shared_ptr<Region>> Map(const std::string& key,
                                                     uint64_t offset,
                                                     uint64_t byte_size);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  const std::string& key() const { return key_; }
  uint64_t offset() const { return offset_; }
  int64_t byte_size() const { return byte_size_; }
  std::byte* data() const { return data_; }

  // Whether all of it is there, and has been since it was mapped.
  bool IsWhole() const;

 private:
  friend struct Span;
  Region(std::string key, uint64_t offset, int64_t byte_size)
      : key_(std::move(key)), offset_(offset), byte_size_(byte_size) {}

  const std::string key_;
  const uint64_t offset_;
  const int64_t byte_size_;
  int file_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  void* mapping_ = nullptr;  // from the page in which the region begins
  size_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
  std::unique_ptr<FaultGuard> guard_;
};

// Bytes of a region; keeps it mapped.
struct Span {
  std::shared_ptr<Region> region;
  int64_t begin;
  int64_t size;

  std::byte* data() const { return region->data() + begin; }

  // Whether both name a byte of one object, by whatever names.
  bool Overlaps(const Span& other) const;
};

// The regions by name. Thread-safe.
class Regions {
 public:
  static constexpr size_t kMaxRegions = 512;

  // If not `allowed`, everything is UNIMPLEMENTED.
  explicit Regions(bool allowed) : allowed_(allowed) {}

  bool allowed() const { return allowed_; }

  // Errors: kAlreadyExists  a region has that name
  //         "name"          is empty, or there are too many regions
  //         and those of Region::Map
  absl::Status Register(const std::string& name, const std::string& key,
                        uint64_t offset, uint64_t byte_size);

  // Forgets `name`, or all of them if it is ""; an unknown one is no error.
  // The region stays mapped while calls use it.
  absl::Status Unregister(const std::string& name);

  // Errors: kNotFound           no region has that name
  //         kFailedPrecondition it has become smaller
  absl::StatusOr<std::shared_ptr<Region>> Find(const std::string& name) const;

  // All regions, or the one that is called `name`.
  // Errors: kNotFound
  absl::StatusOr<std::map<std::string, std::shared_ptr<Region>>> List(
      const std::string& name) const;

 private:
  absl::Status CheckAllowed() const;

  const bool allowed_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Region>> regions_;
};

}  // namespace axis
