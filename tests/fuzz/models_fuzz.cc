// Files of models: OpenVINO IR with its .bin, and programs in text format. They
// are refused, or what they say is what comes out.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "server/elements/types.h"
#include "server/models/ir/ir_file.h"
#include "server/models/program_file.h"
#include "tests/fuzz/oracle.h"

namespace axis::fuzz {
namespace {

// A folder of this process, in memory if there is such a place.
class OwnFolder {
 public:
  OwnFolder() {
    if (access(path_.c_str(), W_OK) != 0)
      path_ = std::filesystem::temp_directory_path();
    path_ /= "axis-fuzz-" + std::to_string(getpid());
    std::filesystem::create_directories(path_);
  }
  ~OwnFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_ = "/dev/shm";
};

const std::filesystem::path& Folder() {
  static const OwnFolder folder;
  return folder.path();
}

void WriteFile(const char* name, const std::string& bytes) {
  std::ofstream(Folder() / name, std::ios::binary) << bytes;
}

// Runs `model` on inputs of the shapes that it asks for.
void Run(const Model& model, Choices& choices) {
  std::vector<InputSpec> specs;
  std::vector<Memory> inputs;
  for (const ModelTensor& input : model.spec().inputs) {
    InputSpec spec{.shape = input.shape.value_or(Shape{2, 6}), .item_bits = 8};
    for (int64_t& extent : spec.shape) extent = extent == -1 ? 6 : extent;
    if (input.type && BitsOf(*input.type) > 0)
      spec.item_bits = BitsOf(*input.type);
    if (Elements(spec.shape) > kMaxElements) return;
    specs.push_back(spec);
    inputs.push_back(Junk(*StoredBytes(spec.shape, kRowMajor, spec.item_bits)));
  }
  for (const Constant& constant : model.constants()) {
    if (Elements(constant.shape) > kMaxElements) return;
    specs.push_back({constant.shape, BitsOf(constant.type)});
    Memory& bytes = inputs.emplace_back();
    for (const auto span : constant.data.Spans())
      bytes.insert(bytes.end(), span.begin(), span.end());
  }
  const google::protobuf::Map<std::string, oip::InferParameter> parameters;
  const auto binding = model.Bind({{}, {}, parameters});
  FUZZ_CHECK(binding.ok());
  FUZZ_CHECK(binding->outputs.size() == binding->graph.results.size());
  if (binding->graph.steps.size() > kMaxTensors) return;
  const auto program = CompileProgram(
      specs, binding->graph, [&](size_t k) { return model.StepName(k); });
  if (program.ok())
    CheckProgram(*program, specs, inputs, binding->graph, choices);
}

}  // namespace
}  // namespace axis::fuzz

// A program; or 'I', an IR, a zero, and its .bin.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace axis::fuzz;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  absl::StatusOr<std::unique_ptr<axis::Model>> model;
  if (bytes.starts_with('I')) {
    const size_t end = std::min(bytes.find('\0'), size);
    WriteFile("a.xml", bytes.substr(1, end - 1));
    WriteFile("a.bin", bytes.substr(std::min(end + 1, size)));
    model = axis::LoadIr(Folder() / "a.xml");
  } else {
    WriteFile("a.textproto", bytes);
    model = axis::LoadProgram(Folder() / "a.textproto");
  }
  Choices choices(data, size);
  if (model.ok()) Run(**model, choices);
  return 0;
}
