// Claims of axisctl where it streams: what is large goes and comes in pieces,
// and is read, written and refused as if it went whole.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/npy/npy.h"
#include "tests/client/axisctl_fixture.h"

namespace axis {
namespace {

class AxisctlStreamTest : public AxisctlTest {};

// More than one piece.
std::string Large() {
  std::string data(3 << 20, '\0');
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i % 251);
  return data;
}

TEST_F(AxisctlStreamTest, LargeInputsAreStreamed) {
  for (const std::string& data :
       {Large(), Large().substr(0, 70000), std::string("abc")}) {
    const Result result =
        Run(Server() + "--stream_above=2 transpose ''", Npy(data));
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_TRUE(result.out == Npy(data)) << result.out.size();
    EXPECT_EQ(server_.last(),
              absl::StrCat("StreamPipeline input { data_type: DATA_TYPE_U8 "
                           "shape: ",
                           data.size(), " data: \"\" } ops { transpose { } }"));
  }
  EXPECT_EQ(Run(Server() + "--stream_above=6 transpose ''").status, 0);
  EXPECT_EQ(server_.last().find("RunPipeline"), 0u);
}

TEST_F(AxisctlStreamTest, OutputsOfAStreamGoToFilesAsTheyCome) {
  server_.stream = [](FakeServer::Stream* call) {
    pb::StreamPipelineRequest in;
    while (call->Read(&in)) {
    }
    for (const char* data : {"abc", "de"}) {
      pb::StreamPipelineResponse out;
      out.mutable_output()->set_data_type(pb::DATA_TYPE_U8);
      out.mutable_output()->add_shape(static_cast<int64_t>(strlen(data)));
      call->Write(out);
      for (const char* byte = data; *byte != 0; ++byte) {
        out.Clear();
        out.mutable_output()->set_data(byte, 1);
        call->Write(out);
      }
    }
    return grpc::Status::OK;
  };
  const std::string stream = Server() + "--stream_above=0 ";
  EXPECT_EQ(Run(stream + "--output=part%d.npy transpose ''").status, 0);
  EXPECT_EQ(Slurp(folder_ + "part0.npy"), Npy("abc"));
  EXPECT_EQ(Slurp(folder_ + "part1.npy"), Npy("de"));
  const Result one = Run(stream + "transpose ''");
  EXPECT_EQ(one.status, 2);
  EXPECT_TRUE(absl::StrContains(one.err, "--output")) << one.err;
  // Known before anything is written.
  const Result split = Run(stream + "variadic_split 'split_lengths: [3, 3]'");
  EXPECT_EQ(split.status, 2);
  EXPECT_EQ(split.out, "");
  EXPECT_TRUE(absl::StrContains(split.err, "--output")) << split.err;
  const Result absent = Run(stream + "--output=absent/x transpose ''");
  EXPECT_EQ(absent.status, 2);
  EXPECT_TRUE(absl::StrContains(absent.err, "cannot write absent/x"));
}

TEST_F(AxisctlStreamTest, AStreamIsReadAsAWholeFileIs) {
  const std::string stream = Server() + "--stream_above=0 transpose ''";
  std::string swapped = Large(), npy = Npy(Large());
  for (size_t i = 0; i < swapped.size(); i += 2)
    std::swap(swapped[i], swapped[i + 1]);
  // Both headers have 128 bytes.
  const auto header = [](const char* descr) {
    return FormatNpyHeader(descr, {3 << 19}).value();
  };
  const Result big = Run(stream, header(">u2") + Large());
  EXPECT_EQ(big.status, 0) << big.err;
  EXPECT_TRUE(big.out == header("<u2") + swapped);
  EXPECT_TRUE(absl::StrContains(server_.last(), "DATA_TYPE_U16"));

  for (const std::string& wrong :
       {npy + "x", npy.substr(0, npy.size() - 1), npy.substr(0, 200)}) {
    const Result result = Run(stream, wrong);
    EXPECT_EQ(result.status, 2);
    EXPECT_TRUE(absl::StrContains(
        result.err, "standard input: must hold the 3145728 bytes"))
        << result.err;
  }

  // Other orders and types go whole; what goes in one message is the client's
  // to say.
  std::string fortran = Npy("abcdef");
  fortran.replace(fortran.find("False, 'shape': (6,), } "), 24,
                  "True, 'shape': (2, 3), }");
  const Result order = Run(stream, fortran);
  EXPECT_EQ(order.status, 0) << order.err;
  EXPECT_TRUE(absl::EndsWith(order.out, "acebdf"));
  EXPECT_TRUE(absl::StrContains(server_.last(), "shape: 2 shape: 3"));
  const Result text =
      Run(Server() + "--stream_above=0 --dtype=STRING --shape=2 transpose ''");
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_EQ(server_.last().find("RunPipeline"), 0u);
}

TEST_F(AxisctlStreamTest, ARefusedStreamIsStatus1) {
  server_.stream = [](FakeServer::Stream*) {
    return Refusal("ops[0].transpose.order[0]", "must lie in [0, 1), is 9");
  };
  const Result result =
      Run(Server() + "--stream_above=0 transpose 'order: 9'", Npy(Large()));
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.err,
            "ops[0].transpose.order[0]: must lie in [0, 1), is 9\n");
  // A root without the devices of its machine has nothing that is always full.
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  server_.stream = nullptr;
  const Result full =
      Run(Server() + "--stream_above=0 --output=/dev/full transpose ''",
          Npy(Large()));
  EXPECT_EQ(full.status, 2);
  EXPECT_TRUE(absl::StrContains(full.err, "cannot write /dev/full"));
}

}  // namespace
}  // namespace axis
