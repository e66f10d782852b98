// The machine is what the system says of it, within what was measured.
#include "kernels/copy/machine.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace axis {
namespace {

class MachineTest : public testing::Test {
 protected:
  MachineTest() { std::filesystem::create_directories(caches_); }
  ~MachineTest() override { std::filesystem::remove_all(caches_); }

  // Describes a cache as Linux does.
  void Add(const std::string& type, int level, const std::string& size,
           int ways) {
    const std::string dir = caches_ + "/index" + std::to_string(added_++);
    std::filesystem::create_directory(dir);
    std::ofstream(dir + "/type") << type << '\n';
    std::ofstream(dir + "/level") << level << '\n';
    std::ofstream(dir + "/size") << size << '\n';
    std::ofstream(dir + "/ways_of_associativity") << ways << '\n';
  }

  // gtest_discover_tests runs each test in a process of its own.
  const std::string caches_ =
      testing::TempDir() + "caches_" +
      testing::UnitTest::GetInstance()->current_test_info()->name();
  int added_ = 0;
};

TEST_F(MachineTest, IsWhatTheSystemTells) {
  Add("Data", 1, "48K", 12);
  Add("Instruction", 1, "32K", 8);
  Add("Unified", 2, "512K", 8);
  Add("Unified", 3, "16384K", 16);
  const Machine machine = Machine::Read(caches_);
  EXPECT_EQ(machine.l1, 48 << 10);
  EXPECT_EQ(machine.l1_way, 4 << 10);
  EXPECT_EQ(machine.l2, 512 << 10);
  EXPECT_EQ(machine.l3, 16 << 20);
}

TEST_F(MachineTest, IsTheDefaultIfTheSystemDoesNotTell) {
  const Machine machine = Machine::Read(caches_);
  EXPECT_EQ(machine.l1, Machine().l1);
  EXPECT_EQ(machine.l1_way, Machine().l1_way);
  EXPECT_EQ(machine.l2, Machine().l2);
  EXPECT_EQ(machine.l3, Machine().l3);
}

TEST_F(MachineTest, HasNoMoreOfALastCacheThanNeighboursLeave) {
  Add("Unified", 3, "266240K", 20);
  const Machine machine = Machine::Read(caches_);
  EXPECT_EQ(machine.l3, 64 << 20);
  EXPECT_FALSE(machine.StreamsShortRuns((32 << 20) - 1));
  EXPECT_TRUE(machine.StreamsShortRuns(32 << 20));
}

TEST_F(MachineTest, StreamsSoonerWithoutLookupsAndLaterWithSeveralWorkers) {
  struct Case {
    Machine machine;
    int64_t tiles, tiles_of_lines, interleaved, deinterleaved, long_runs;
  };
  for (const Case& c : {
           Case{{.shuffle = 64}, 5, 8, 8, 9, 9},
           Case{{.shuffle = 64, .workers = 2}, 10, 10, 11, 11, 13},
           Case{{.shuffle = 256}, 7, 8, 8, 8, 8},
           Case{{.shuffle = 256, .workers = 2}, 10, 10, 16, 16, 13},
       }) {
    // Of how many MiB on that is so.
    auto from = [&m = c.machine](bool (Machine::*streams)(int64_t) const) {
      int64_t mebibytes = 1;
      while (mebibytes < 32 && !(m.*streams)(mebibytes << 20)) ++mebibytes;
      EXPECT_FALSE((m.*streams)((mebibytes << 20) - 1));
      return mebibytes;
    };
    EXPECT_EQ(from(&Machine::StreamsTiles), c.tiles);
    EXPECT_EQ(from(&Machine::StreamsTilesOfLines), c.tiles_of_lines);
    EXPECT_EQ(from(&Machine::StreamsInterleaved), c.interleaved);
    EXPECT_EQ(from(&Machine::StreamsDeinterleaved), c.deinterleaved);
    EXPECT_EQ(from(&Machine::StreamsLongRuns), c.long_runs);
    EXPECT_EQ(from(&Machine::StreamsShortRuns), 16);
  }
}

TEST_F(MachineTest, StreamsLinesPastAFarLastCacheThatLeaveTheSecond) {
  Machine machine = {.l2 = 2 << 20, .l3 = 64 << 20, .shuffle = 256};
  ASSERT_TRUE(machine.HasFarL3());
  for (machine.workers = 1; machine.workers <= 2; ++machine.workers) {
    EXPECT_FALSE(machine.StreamsLines((2 << 20) - 1));
    EXPECT_TRUE(machine.StreamsLines(2 << 20));
    EXPECT_TRUE(machine.StreamsLongRuns(2 << 20));
    EXPECT_FALSE(machine.StreamsShortRuns(15 << 20));
    EXPECT_TRUE(machine.StreamsShortRuns(16 << 20));
    EXPECT_FALSE(machine.StreamsTiles(13 << 20));
  }
  machine.l2 = 1 << 20;
  EXPECT_FALSE(machine.StreamsLines(20 << 20));
  EXPECT_FALSE(machine.StreamsLongRuns(20 << 20));
}

}  // namespace
}  // namespace axis
