// The models that this server has, by name.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/models/model.h"
#include "server/process/log.h"

namespace axis {

// Every model has this one version.
inline constexpr char kModelVersion[] = "1";

class Repository {
 public:
  // The built-in models and those of the files in `folder`, "" for none. A file
  // that cannot be served is named in `log` with the reason.
  Repository(const std::string& folder, const Log& log);

  // Errors: kNotFound          no such model, or no such version
  //         "<field>"          `name` is empty
  absl::StatusOr<const Model*> Find(const std::string& name,
                                    const std::string& version,
                                    const char* field) const;

  const std::map<std::string, std::unique_ptr<Model>>& models() const {
    return models_;
  }

 private:
  void Load(const std::string& folder, const Log& log);
  absl::Status Add(absl::StatusOr<std::unique_ptr<Model>> model);

  std::map<std::string, std::unique_ptr<Model>> models_;
};

}  // namespace axis
