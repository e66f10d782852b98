// Runs a fuzz target on stored inputs: what any compiler can do in any build.
//
// Usage: TARGET FILE|FOLDER...
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/choices.h"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!fs::exists(argv[i])) {
      std::fprintf(stderr, "no such file: %s\n", argv[i]);
      return 1;
    }
    if (!fs::is_directory(argv[i]))
      files.emplace_back(argv[i]);
    else
      for (const auto& entry : fs::recursive_directory_iterator(argv[i]))
        if (entry.is_regular_file()) files.push_back(entry.path());
  }
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    std::fprintf(stderr, "%s\n", file.c_str());  // the last one is the guilty
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()),
                           bytes.size());
  }
  std::printf("summary: %s: %zu stored inputs replayed\n",
              fs::path(argv[0]).filename().c_str(), files.size());
  return files.empty() ? 1 : 0;
}
