#include "tools/views/memory_snapshot.h"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/views/told_events.h"

namespace twinmmu {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kBase = 0x7000'0000'0000;

bool HasPython() { return std::system("python3 -c '' 2> /dev/null") == 0; }

// As Python's own reader understands it, with the protocol in front.
Json ReadByPython(const std::string& pickle) {
  const std::string path = testing::TempDir() + "snapshot.pickle";
  std::ofstream(path, std::ios::binary) << pickle;
  const std::string command =
      "python3 -c 'import json, pickle, pickletools, sys\n"
      "data = open(sys.argv[1], \"rb\").read()\n"
      "protos = [max(o.proto for o, a, p in pickletools.genops(data))]\n"
      "print(json.dumps([protos, pickle.loads(data)]))' " +
      path;
  FILE* const pipe = popen(command.c_str(), "r");
  std::string output;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) output += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0);
  return Json::parse(output, nullptr, false);
}

#define NEED_PYTHON() \
  if (!HasPython()) GTEST_SKIP() << "there is no python3 here"

TEST(PickleTest, NoOperationIsNewerThanProtocolTwo) {
  NEED_PYTHON();
  MemorySnapshot snapshot;
  ToldEvents told(&snapshot);
  told.Allocate(kBase, 512);
  EXPECT_LE(ReadByPython(snapshot.Finish())[0][0], 2);
}

TEST(PickleTest, IntegersAndTextComeBack) {
  NEED_PYTHON();
  Pickle pickle;
  pickle.BeginList();
  for (const int64_t value : {int64_t{0}, int64_t{-1}, int64_t{1} << 31, int64_t{0x7fff'ffff},
                              -(int64_t{1} << 31) - 1, INT64_MAX, INT64_MIN}) {
    pickle.Integer(value);
  }
  pickle.Text("gr\xc3\xbc\xc3\x9f");
  pickle.Text("bad \xff, \xc0\x80, \xed\xa0\x80, cut \xe2\x82");
  pickle.EndList();
  const Json read = ReadByPython(pickle.Finish())[1];
  EXPECT_EQ(read, Json({0, -1, int64_t{1} << 31, 0x7fff'ffff, -(int64_t{1} << 31) - 1, INT64_MAX,
                        INT64_MIN, "gr\xc3\xbc\xc3\x9f", "bad ?, ??, ???, cut ??"}));
}

TEST(MemorySnapshotTest, AReservationIsAnExpandableSegmentOfItsMappings) {
  NEED_PYTHON();
  MemorySnapshot snapshot;
  ToldEvents told(&snapshot);
  const record::Stack stack = {{"Grow", "/src/pool.cc", 42}};
  told.Reserve(kBase, 8 * kMiB);
  told.Create(1, 4 * kMiB, 1);
  told.SetStack(&stack);
  told.Map(kBase + 2 * kMiB, 4 * kMiB, 1);
  const Json read = ReadByPython(snapshot.Finish())[1];
  ASSERT_EQ(read["segments"].size(), 1u);
  const Json& segment = read["segments"][0];
  EXPECT_EQ(segment["address"], kBase);
  EXPECT_EQ(segment["total_size"], 8 * kMiB);
  EXPECT_EQ(segment["allocated_size"], 4 * kMiB);
  EXPECT_EQ(segment["device"], 1);
  EXPECT_EQ(segment["is_expandable"], true);
  uint64_t sum = 0;
  for (const Json& block : segment["blocks"]) {
    EXPECT_EQ(block["address"], kBase + sum);
    sum += block["size"].get<uint64_t>();
  }
  EXPECT_EQ(sum, 8 * kMiB);
  ASSERT_EQ(segment["blocks"].size(), 3u);
  const Json& mapped = segment["blocks"][1];
  EXPECT_EQ(mapped["state"], "active_allocated");
  EXPECT_EQ(segment["blocks"][2]["state"], "inactive");
  EXPECT_EQ(mapped["frames"],
            Json({{{"filename", "/src/pool.cc"}, {"line", 42}, {"name", "Grow"}}}));
}

TEST(MemorySnapshotTest, TheTraceOfADeviceHasWhatHappenedThere) {
  NEED_PYTHON();
  MemorySnapshot snapshot;
  ToldEvents told(&snapshot);
  told.Reserve(kBase, 2 * kMiB);
  told.Create(1, 2 * kMiB, 1);
  told.Map(kBase, 2 * kMiB, 1);
  told.Unmap(kBase, 2 * kMiB);
  told.Allocate(kBase + 64 * kMiB, 512, 0);
  const Json read = ReadByPython(snapshot.Finish())[1];
  ASSERT_EQ(read["device_traces"].size(), 2u);
  std::vector<std::string> actions;
  for (const Json& entry : read["device_traces"][1]) actions.push_back(entry["action"]);
  EXPECT_EQ(actions, std::vector<std::string>({"segment_map", "alloc", "free_requested",
                                               "free_completed", "segment_unmap"}));
  EXPECT_EQ(read["device_traces"][1][0]["addr"], kBase);
  EXPECT_EQ(read["device_traces"][1][0]["time_us"], 3);
  EXPECT_EQ(read["device_traces"][0][0]["action"], "segment_alloc");
  EXPECT_EQ(read["device_traces"][0][0]["size"], 512);
}

// Two pages each, of a reservation of eight.
class PooledSnapshotTest : public testing::Test {
 protected:
  PooledSnapshotTest() {
    told_.Reserve(kBase, 8 * kMiB);
    for (uint64_t i = 0; i < 6; ++i) {
      told_.Create(i + 1, kMiB);
      told_.Map(kBase + i * kMiB, kMiB, i + 1);
      if (i % 2 == 1) told_.AllocateFromPool(kBase + (i - 1) * kMiB, 2 * kMiB);
    }
  }
  // "0-2, 4-6": what is in use, in MiB.
  static std::string UsedIn(const Json& segment) {
    std::string used;
    for (const Json& block : segment["blocks"]) {
      if (block["state"] != "active_allocated") continue;
      const uint64_t first = (block["address"].get<uint64_t>() - kBase) / kMiB;
      if (!used.empty()) used += ", ";
      used += std::to_string(first) + "-" +
              std::to_string(first + block["size"].get<uint64_t>() / kMiB);
    }
    return used;
  }

  MemorySnapshot snapshot_;
  ToldEvents told_{&snapshot_};
};

TEST_F(PooledSnapshotTest, BlocksOfAnAllocatorAreThoseOfItsSegment) {
  NEED_PYTHON();
  const Json read = ReadByPython(snapshot_.Finish())[1];
  ASSERT_EQ(read["segments"].size(), 1u);
  EXPECT_EQ(UsedIn(read["segments"][0]), "0-2, 2-4, 4-6");
}

// Pages that it keeps mapped are not in use.
TEST_F(PooledSnapshotTest, ABlockMayGoInParts) {
  NEED_PYTHON();
  told_.FreeToPool(kBase, kMiB);
  told_.FreeToPool(kBase + 3 * kMiB, 2 * kMiB);
  const Json read = ReadByPython(snapshot_.Finish())[1];
  EXPECT_EQ(UsedIn(read["segments"][0]), "1-2, 2-3, 5-6");
}

TEST_F(PooledSnapshotTest, TheTraceSaysOfBlocksThatTheyAreUsedAndOfMappingsThatTheyAreThere) {
  NEED_PYTHON();
  told_.FreeToPool(kBase, 2 * kMiB);
  const Json read = ReadByPython(snapshot_.Finish())[1];
  std::vector<std::string> actions;
  for (const Json& entry : read["device_traces"][0]) actions.push_back(entry["action"]);
  const std::string kMap = "segment_map";
  EXPECT_EQ(actions, std::vector<std::string>({kMap, kMap, "alloc", kMap, kMap, "alloc", kMap, kMap,
                                               "alloc", "free_requested", "free_completed"}));
}

TEST(MemorySnapshotTest, DevicesOfOtherProcessesComeBehind) {
  NEED_PYTHON();
  MemorySnapshot snapshot;
  ToldEvents first(&snapshot, 100);
  ToldEvents second(&snapshot, 200);
  first.Allocate(kBase, 512, 0);
  second.Allocate(kBase, 1024, 0);
  const Json read = ReadByPython(snapshot.Finish())[1];
  ASSERT_EQ(read["device_traces"].size(), 2u);
  EXPECT_EQ(read["device_traces"][1][0]["size"], 1024);
  ASSERT_EQ(read["segments"].size(), 2u);
  EXPECT_EQ(read["segments"][1]["device"], 1);
}

TEST(MemorySnapshotTest, AnAddressBeyondSignedIntegersStillHasEightBytes) {
  NEED_PYTHON();
  MemorySnapshot snapshot;
  ToldEvents told(&snapshot);
  told.Allocate(~uint64_t{0} - 4095, 4096);
  const Json read = ReadByPython(snapshot.Finish())[1];
  EXPECT_EQ(read["segments"][0]["address"], -4096);
}

TEST(MemorySnapshotTest, ForgetsTheOldestOfItsTraces) {
  NEED_PYTHON();
  MemorySnapshot snapshot(4);
  ToldEvents told(&snapshot);
  for (uint64_t i = 0; i < 3; ++i) told.Allocate(kBase + i * kMiB, 512);
  const Json read = ReadByPython(snapshot.Finish())[1];
  ASSERT_EQ(read["device_traces"][0].size(), 4u);
  EXPECT_EQ(read["device_traces"][0][0]["addr"], kBase + kMiB);
  EXPECT_EQ(read["segments"].size(), 3u);
  EXPECT_EQ(snapshot.LeftOut(), "the first 2 entries of its traces: they have 4");
}

// Each of them may have devices without number.
TEST(MemorySnapshotTest, WhatIsBeyondTheMostDevicesIsOnTheLastOne) {
  NEED_PYTHON();
  MemorySnapshot snapshot;
  std::deque<ToldEvents> told;  // with the stack of what they tell, which has to outlive it
  for (uint32_t i = 0; i < MemorySnapshot::kMostDevices + 2; ++i) {
    told.emplace_back(&snapshot, i + 1).Allocate(kBase, 512);
  }
  const Json read = ReadByPython(snapshot.Finish())[1];
  ASSERT_EQ(read["device_traces"].size(), MemorySnapshot::kMostDevices);
  EXPECT_EQ(read["device_traces"].back().size(), 6u);
}

// The viewer gives a piece of a list to a call as arguments, of which there may not be many.
TEST(MemorySnapshotTest, NoPieceOfAListIsLong) {
  NEED_PYTHON();
  MemorySnapshot snapshot;
  ToldEvents told(&snapshot);
  for (uint64_t i = 0; i < 3000; ++i) told.Allocate(kBase + i * kMiB, 512);
  const std::string path = testing::TempDir() + "pieces.pickle";
  std::ofstream(path, std::ios::binary) << snapshot.Finish();
  const std::string command =
      "python3 -c 'import pickletools, sys\n"
      "marks, depth, most = [0], 0, 0\n"
      "for o, a, p in pickletools.genops(open(sys.argv[1], \"rb\")):\n"
      "  if o.name == \"MARK\": marks.append(0)\n"
      "  elif o.name in (\"APPENDS\", \"SETITEMS\", \"TUPLE\"):\n"
      "    most = max(most, marks.pop())\n"
      "    if o.name == \"TUPLE\": marks[-1] += 1\n"
      "  elif o.name not in (\"PROTO\", \"STOP\", \"LONG_BINPUT\"): marks[-1] += 1\n"
      "sys.exit(0 if 900 < most < 1100 else 1)' " +
      path;
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace twinmmu
