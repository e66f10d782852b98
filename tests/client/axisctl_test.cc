// Claims of axisctl, as a user sees it: what it sends, what it writes, what it
// says, and its exit status.
#include <gtest/gtest.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/client/axisctl_fixture.h"

namespace axis {
namespace {

TEST_F(AxisctlTest, OpsGoInOnePipelineAndTheOutputComesOut) {
  const Result result =
      Run(Server() +
          "transpose 'order: [1, 0]' shuffle_channels 'axis: 3 group: 4'"
          " variadic_split 'split_lengths: [64, -1]' shuffle ''");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out, Npy("abcdef"));
  EXPECT_EQ(server_.last(),
            "RunPipeline inputs { data_type: DATA_TYPE_U8 shape: 6 data: "
            "\"abcdef\" } ops { transpose { order: 1 order: 0 } } ops { "
            "shuffle_channels { axis: 3 group: 4 } } ops { variadic_split { "
            "split_lengths: 64 split_lengths: -1 } } ops { shuffle { } }");
}

TEST_F(AxisctlTest, SeveralOutputsGoToNumberedFiles) {
  server_.answer = [](pb::RunPipelineResponse* response) {
    pb::Tensor* const output = response->add_outputs();
    output->set_data_type(pb::DATA_TYPE_U8);
    output->add_shape(3);
    output->set_data("xyz");
  };
  EXPECT_EQ(Run(Server() + "--output=part%d.npy transpose ''").status, 0);
  EXPECT_EQ(Slurp(folder_ + "part0.npy"), Npy("abcdef"));
  EXPECT_EQ(Slurp(folder_ + "part1.npy"), Npy("xyz"));
  for (const char* output : {"", "--output=one.npy "}) {
    const Result result = Run(Server() + output + "transpose ''");
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(absl::StrContains(result.err, "2 outputs")) << result.err;
    EXPECT_TRUE(absl::StrContains(result.err, "--output")) << result.err;
  }
}

TEST_F(AxisctlTest, OneOutputMayGoToAFile) {
  EXPECT_EQ(Run(Server() + "transpose '' --output one.npy").status, 0);
  EXPECT_EQ(Slurp(folder_ + "one.npy"), Npy("abcdef"));
}

TEST_F(AxisctlTest, ARefusalIsStatus1AndNamesTheField) {
  server_.before = [] {
    return Refusal("ops[0].transpose.order[0]", "must lie in [0, 1), is 9");
  };
  const Result result = Run(Server() + "transpose 'order: 9'");
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err,
            "ops[0].transpose.order[0]: must lie in [0, 1), is 9\n");
}

TEST_F(AxisctlTest, AFullServerRefusesAndABrokenOneFails) {
  server_.before = [] {
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "full");
  };
  EXPECT_EQ(Run(Server() + "transpose ''").status, 1);
  server_.before = [] {
    return grpc::Status(grpc::StatusCode::INTERNAL, "a defect");
  };
  const Result result = Run(Server() + "transpose ''");
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, "axisctl: INTERNAL: a defect\n");
}

TEST_F(AxisctlTest, AServerThatIsAwayIsStatus2AndIsNamed) {
  const std::string nowhere = FakeServer().address();
  for (const char* words : {" transpose ''", " health"}) {
    const Result result = Run("--server=" + nowhere + words);
    EXPECT_EQ(result.status, 2);
    EXPECT_TRUE(absl::StrContains(result.err, "cannot reach " + nowhere))
        << result.err;
  }
}

TEST_F(AxisctlTest, ACallThatTakesTooLongIsStatus2) {
  server_.before = [] {
    sleep(1);
    return grpc::Status::OK;
  };
  const Result result = Run(Server() + "--timeout=100ms transpose ''");
  EXPECT_EQ(result.status, 2);
  EXPECT_TRUE(absl::StrContains(result.err, "DEADLINE_EXCEEDED")) << result.err;
}

TEST_F(AxisctlTest, WhatTheUserGotWrongIsStatus2AndIsNamed) {
  const std::pair<std::string, std::string> wrong[] = {
      {"", "axisctl [FLAGS] OP"},
      {"transpoze ''", "'transpoze' must be an op, one of transpose, "},
      {"transpose", "transpose must be followed by its attributes"},
      {"transpose 'oder: 1'", "no field named \"oder\""},
      {"transpose 'order: [1'", "attributes of transpose"},
      {"transpose 'order: 99999999999999999999'", "out of range"},
      {"--nope transpose ''", "no flag --nope"},
      {"transpose '' --repeat", "--repeat must have a value"},
      {"--repeat=0 transpose ''", "--repeat must be at least 1, is 0"},
      {"--repeat=many transpose ''", "--repeat: "},
      {"--timeout=-1s transpose ''", "--timeout must be more than 0"},
      {"--stream_above=-1 transpose ''", "--stream_above must be at least 0"},
      {"--dtype=F12 transpose ''", "--dtype must be one of BOOL U8"},
      {"--dtype=UNSPECIFIED transpose ''", "--dtype must be one of"},
      {"--dtype=U4 transpose ''", "the shape given"},
      {"--layout=NHWC transpose ''", "--layout must be one of NCX NXC NCX4C"},
      {"--shape='(2' transpose ''", "--shape must be extents"},
      {"--shape=2,-3 transpose ''", "--shape must be extents"},
      {"--tls_cert=in transpose ''", "--tls_cert and --tls_key"},
      {"--tls_ca=in transpose ''", "in must be a PEM file"},
      {"--tls_ca=absent transpose ''", "cannot read absent"},
      {"--output=absent/x transpose ''", "cannot write absent/x"},
      {"inspect", "inspect must have one FILE"},
      {"inspect absent.npy", "cannot read absent.npy"},
      {"help nope", "'nope' must be an op"},
  };
  for (const auto& [words, why] : wrong) {
    const Result result = Run(Server() + words);
    EXPECT_EQ(result.status, 2) << words << ": " << result.err;
    EXPECT_TRUE(absl::StrContains(result.err, why))
        << words << ": " << result.err;
    EXPECT_EQ(result.out, "") << words;
  }
}

TEST_F(AxisctlTest, InputThatIsNoNpyIsStatus2) {
  for (const char* input : {"", "hello"}) {
    const Result result = Run(Server() + "transpose ''", input);
    EXPECT_EQ(result.status, 2);
    EXPECT_TRUE(absl::StrContains(result.err, "standard input: not a .npy"))
        << result.err;
  }
  EXPECT_EQ(server_.calls(), 0);
}

TEST_F(AxisctlTest, OutputThatDoesNotFitIsStatus2) {
  // A root without the devices of its machine has nothing that is always full.
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  const Result result = Run(Server() + "--output=/dev/full transpose ''");
  EXPECT_EQ(result.status, 2);
  EXPECT_TRUE(absl::StrContains(result.err, "cannot write /dev/full"));
}

TEST_F(AxisctlTest, BytesTravelAsTypesThatNumpyLacks) {
  const Result result =
      Run(Server() + "--dtype=u4 --shape=4,3 transpose 'order: [1, 0]'");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, Npy("abcdef"));
  EXPECT_TRUE(absl::StrContains(server_.last(),
                                "data_type: DATA_TYPE_U4 shape: 4 shape: 3"))
      << server_.last();
  EXPECT_EQ(
      Run(Server() + "--dtype=U1 --shape='()' transpose ''", Npy("a")).status,
      0);
  EXPECT_TRUE(absl::StrContains(server_.last(),
                                "inputs { data_type: DATA_TYPE_U1 data:"))
      << server_.last();
}

TEST_F(AxisctlTest, RepeatMeasures) {
  const Result result = Run(Server() + "--repeat=5 transpose ''");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(server_.calls(), 5);
  EXPECT_EQ(result.out, Npy("abcdef"));
  for (const char* word : {"5 calls", "p50", "p99", "GB/s"})
    EXPECT_TRUE(absl::StrContains(result.err, word)) << result.err;
}

TEST_F(AxisctlTest, HealthIsAnExitStatus) {
  EXPECT_EQ(Run(Server() + "health").out, "SERVING\n");
  EXPECT_EQ(Run(Server() + "health readiness").status, 0);
  server_.SetReady(false);
  const Result result = Run(Server() + "health readiness");
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out, "NOT_SERVING\n");
  EXPECT_EQ(Run(Server() + "health nope").status, 1);
}

TEST_F(AxisctlTest, InspectTellsWhatAFileHolds) {
  const Result result = Run("inspect in");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out,
            "descr   |u1\ntype    U8\nshape   [6]\n"
            "order   C, last axis fastest\ndata    6 bytes from byte 128\n");
  EXPECT_EQ(Run("inspect in", Npy("abcdef") + "x").status, 2);
}

TEST_F(AxisctlTest, HelpShowsTheContract) {
  const Result result = Run("help shuffle");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out.find("// Shuffles `axis` as the oneDNN"), 0u);
  EXPECT_TRUE(absl::StrContains(result.out, "DIRECTION_BACKWARD"));
  EXPECT_TRUE(absl::EndsWith(result.out, "direction = 3;\n}\n"));
  for (const char* op :
       {"transpose", "shuffle_channels", "variadic_split", "shuffle"}) {
    EXPECT_TRUE(absl::StrContains(Run("help").out, op));
    EXPECT_TRUE(absl::StrContains(Run(absl::StrCat("help ", op)).out, "//"));
  }
  EXPECT_EQ(Run("--help").status, 0);
  EXPECT_EQ(Run("--version").out.find("axisctl "), 0u);
}

}  // namespace
}  // namespace axis
