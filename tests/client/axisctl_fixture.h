// Runs axisctl as a user does, in a folder of its own, with a server in this
// process that answers it.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/npy/npy.h"
#include "tests/client/fake_server.h"

namespace axis {

inline std::string Slurp(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(name, std::ios::binary).rdbuf();
  return text.str();
}

// A file of U8.
inline std::string Npy(const std::string& data) {
  Tensor tensor;
  tensor.data_type = pb::DATA_TYPE_U8;
  tensor.shape = {static_cast<int64_t>(data.size())};
  return NpyHeaderOf(tensor).value() + data;
}

class AxisctlTest : public testing::Test {
 protected:
  struct Result {
    int status;
    std::string out, err;
  };

  AxisctlTest()
      : folder_(absl::StrCat(testing::TempDir(), "axisctl", getpid(), "/")) {
    std::filesystem::create_directories(folder_);
  }
  ~AxisctlTest() override { std::filesystem::remove_all(folder_); }

  // Runs `axisctl ARGUMENTS` (in the shell's spelling) on `input`.
  Result Run(const std::string& arguments,
             const std::string& input = Npy("abcdef")) {
    std::ofstream(folder_ + "in", std::ios::binary) << input;
    const std::string command =
        absl::StrCat("cd '", folder_, "' && '", AXISCTL_PATH, "' ", arguments,
                     " < in > out 2> err");
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            Slurp(folder_ + "out"), Slurp(folder_ + "err")};
  }

  std::string Server() const {
    return absl::StrCat("--server=", server_.address(), " ");
  }

  FakeServer server_;
  const std::string folder_;
};

}  // namespace axis
