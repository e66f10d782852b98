#include "server/models/repository.h"

#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/status.h"
#include "server/models/builtin.h"
#include "server/models/ir/ir_file.h"
#include "server/models/program_file.h"

namespace axis {
namespace {

constexpr size_t kMaxFiles = 1024;

}  // namespace

Repository::Repository(const std::string& folder, const Log& log) {
  for (std::unique_ptr<Model>& model : BuiltinModels()) {
    const std::string name = model->spec().name;
    models_.emplace(name, std::move(model));
  }
  if (!folder.empty()) Load(folder, log);
}

void Repository::Load(const std::string& folder, const Log& log) {
  std::error_code error;
  std::set<std::string> paths;  // in order, so that names clash the same way
  for (std::filesystem::directory_iterator it(folder, error), end;
       !error && it != end; it.increment(error)) {
    const std::string extension = it->path().extension().string();
    if (extension != ".textproto" && extension != ".xml") continue;
    if (paths.size() == kMaxFiles) {
      log.Warning("more models than are served", {{"most", int{kMaxFiles}}});
      break;
    }
    paths.insert(it->path().string());
  }
  if (error)
    log.Warning("the folder of models cannot be read",
                {{"folder", folder}, {"reason", error.message()}});
  for (const std::string& path : paths) {
    const absl::Status status =
        Add(absl::EndsWith(path, ".xml") ? LoadIr(path) : LoadProgram(path));
    if (status.ok()) continue;
    const std::string field = FieldOf(status);
    log.Warning("model not served",
                {{"file", path},
                 {"reason", absl::StrCat(field, field.empty() ? "" : ": ",
                                         status.message())}});
  }
  log.Info("models", {{"folder", folder},
                      {"served", static_cast<int64_t>(models_.size())}});
}

absl::Status Repository::Add(absl::StatusOr<std::unique_ptr<Model>> model) {
  AXIS_RETURN_IF_ERROR(model.status());
  const std::string name = (*model)->spec().name;
  if (name.empty()) return FieldError("name", "must not be empty");
  const auto [it, is_new] = models_.emplace(name, *std::move(model));
  if (!is_new)
    return FieldError("name", absl::StrCat("there is a model ", name));
  return absl::OkStatus();
}

absl::StatusOr<const Model*> Repository::Find(const std::string& name,
                                              const std::string& version,
                                              const char* field) const {
  if (name.empty()) return FieldError(field, "must not be empty");
  const auto it = models_.find(name);
  if (it == models_.end())
    return absl::NotFoundError(absl::StrCat("there is no model ", name));
  if (!version.empty() && version != kModelVersion)
    return absl::NotFoundError(
        absl::StrCat("model ", name, " has version ", kModelVersion, " alone"));
  return it->second.get();
}

}  // namespace axis
