// What the environment says, and what it cannot say.

#include "sim/libcuda/settings.h"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/libcuda/device_identity.h"

namespace twinmmu::libcuda {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::StatusOr<Settings> Read(const std::vector<std::string>& lines) {
  std::vector<const char*> environment;
  for (const std::string& line : lines) environment.push_back(line.c_str());
  environment.push_back(nullptr);
  return ReadSettings(environment.data());
}

std::string Complaint(const std::string& line) {
  const absl::StatusOr<Settings> settings = Read({line});
  EXPECT_EQ(settings.status().code(), absl::StatusCode::kInvalidArgument) << settings.status();
  EXPECT_THAT(std::string(settings.status().message()), HasSubstr(line));
  return std::string(settings.status().message());
}

TEST(SettingsTest, AreTheReferenceWithoutVariables) {
  const auto settings = Read({"PATH=/bin", "HOME=/"});
  ASSERT_THAT(settings, IsOk());
  EXPECT_EQ(settings->profile.device_count(), 2);
  EXPECT_TRUE(settings->profile.quirks.unmap_passes_over_holes);
  EXPECT_THAT(settings->failures, IsEmpty());
  EXPECT_THAT(settings->report_file, IsEmpty());
  EXPECT_THAT(settings->run_folder, IsEmpty());
  EXPECT_THAT(settings->warnings, IsEmpty());
}

TEST(SettingsTest, TakeTheProfileByName) {
  const auto settings = Read({"TWINMMU_PROFILE=small-address-space"});
  ASSERT_THAT(settings, IsOk());
  EXPECT_EQ(settings->profile.address_bits, 39);
  EXPECT_THAT(Complaint("TWINMMU_PROFILE=h300"), HasSubstr("there are reference, strict"));
}

TEST(SettingsTest, TakeTheProfileFromAFile) {
  const std::string path = ::testing::TempDir() + "/machine.json";
  std::ofstream(path) << R"({"devices": 3})";
  const auto settings = Read({"TWINMMU_PROFILE=" + path});
  ASSERT_THAT(settings, IsOk());
  EXPECT_EQ(settings->profile.device_count(), 3);
}

TEST(SettingsTest, TurnAllQuirksOff) {
  const auto settings = Read({"TWINMMU_STRICT=1"});
  ASSERT_THAT(settings, IsOk());
  for (const QuirkInfo& quirk : AllQuirks()) {
    EXPECT_FALSE(settings->profile.quirks.*quirk.field) << quirk.name;
  }
  EXPECT_TRUE(Read({"TWINMMU_STRICT=0"})->profile.quirks.fill_size_wraps);
  EXPECT_THAT(Complaint("TWINMMU_STRICT=yes"), HasSubstr("0 or 1"));
}

TEST(SettingsTest, TakeTheNumberOfDevices) {
  EXPECT_EQ(Read({"TWINMMU_DEVICES=0"})->profile.device_count(), 0);
  EXPECT_EQ(Read({"TWINMMU_DEVICES=15"})->profile.device_count(), 15);
  for (const char* wrong : {"16", "-1", "two", "3.5"}) {
    EXPECT_THAT(Complaint(std::string("TWINMMU_DEVICES=") + wrong), HasSubstr("from 0 to 15"));
  }
}

TEST(SettingsTest, TakeTheStreamPolicy) {
  const auto settings = Read({"TWINMMU_STREAM_POLICY=seeded:7"});
  ASSERT_THAT(settings, IsOk());
  EXPECT_EQ(settings->profile.stream_policy, StreamPolicy::kSeeded);
  EXPECT_EQ(settings->profile.stream_seed, 7u);
  EXPECT_EQ(Read({"TWINMMU_STREAM_POLICY=deferred"})->profile.stream_policy,
            StreamPolicy::kDeferred);
  for (const char* wrong : {"late", "deferred:7", "seeded:x", "seeded:"}) {
    EXPECT_THAT(Complaint(std::string("TWINMMU_STREAM_POLICY=") + wrong),
                HasSubstr("seeded:NUMBER"));
  }
}

TEST(SettingsTest, TakeTheAliasPolicy) {
  const auto settings = Read({"TWINMMU_ALIAS_POLICY=random:7"});
  ASSERT_THAT(settings, IsOk());
  EXPECT_EQ(settings->profile.alias_policy, coherence::Policy::kRandom);
  EXPECT_EQ(settings->profile.alias_seed, 7u);
  EXPECT_EQ(Read({"TWINMMU_ALIAS_POLICY=l1"})->profile.alias_policy, coherence::Policy::kL1);
  for (const char* wrong : {"fresh", "stale:7", "random:x", "random:"}) {
    EXPECT_THAT(Complaint(std::string("TWINMMU_ALIAS_POLICY=") + wrong),
                HasSubstr("random:NUMBER"));
  }
}

TEST(SettingsTest, TakeTheChecksOfMemory) {
  EXPECT_FALSE(Read({})->profile.race_check);
  EXPECT_TRUE(Read({"TWINMMU_RACE_CHECK=1"})->profile.race_check);
  EXPECT_FALSE(Read({"TWINMMU_RACE_CHECK=1"})->profile.init_check);
  EXPECT_TRUE(Read({"TWINMMU_INIT_CHECK=1"})->profile.init_check);
  EXPECT_FALSE(Read({"TWINMMU_INIT_CHECK=0"})->profile.init_check);
  EXPECT_THAT(Complaint("TWINMMU_RACE_CHECK=yes"), HasSubstr("it is 0 or 1"));
}

// What is said is what is free, on each device, however much the machine had.
TEST(SettingsTest, TakeTheBudgetOfMemory) {
  for (const auto& [text, size] :
       {std::pair("512MiB", MiB(512)), std::pair("80 GiB", GiB(80)), std::pair("1048576", MiB(1)),
        std::pair("2TiB", TiB(2)), std::pair("64KiB", KiB(64)), std::pair("4096B", KiB(4))}) {
    const auto settings = Read({std::string("TWINMMU_MEMORY=") + text});
    ASSERT_THAT(settings, IsOk());
    for (const DeviceProfile& device : settings->profile.devices) {
      EXPECT_EQ(device.memory - device.memory_in_use, size) << text;
      EXPECT_EQ(device.memory_kept_back, Bytes(0));
    }
  }
  for (const char* wrong : {"lots", "-1", "1.5GiB", "16777216TiB", "MiB"}) {
    EXPECT_THAT(Complaint(std::string("TWINMMU_MEMORY=") + wrong), HasSubstr("as 512MiB"));
  }
}

// A size that the page table has no room for is refused by the profile, under the variable's name.
TEST(SettingsTest, NameTheVariableWhenTheMachineCannotExist) {
  EXPECT_THAT(Complaint("TWINMMU_MEMORY=4194304TiB"), HasSubstr("too many pages"));
}

// The budget is of the devices that there are in the end, wherever the variables stand.
TEST(SettingsTest, ChangeTheMachineInAFixedOrder) {
  const auto settings =
      Read({"TWINMMU_MEMORY=1GiB", "TWINMMU_DEVICES=5", "TWINMMU_PROFILE=no-peers"});
  ASSERT_THAT(settings, IsOk());
  ASSERT_EQ(settings->profile.device_count(), 5);
  EXPECT_FALSE(settings->profile.peers[3][4]);
  for (const DeviceProfile& device : settings->profile.devices) {
    EXPECT_EQ(device.memory - device.memory_in_use, GiB(1));
  }
}

TEST(SettingsTest, HandOnWhatOthersRead) {
  const auto settings = Read({"TWINMMU_FAIL=cuMemMap:3:2", "TWINMMU_REPORT=/tmp/a.jsonl",
                              "TWINMMU_RUN_FOLDER=/dev/shm/x"});
  ASSERT_THAT(settings, IsOk());
  EXPECT_EQ(settings->failures, "cuMemMap:3:2");
  EXPECT_EQ(settings->report_file, "/tmp/a.jsonl");
  EXPECT_EQ(settings->run_folder, "/dev/shm/x");
}

// An empty value is as if the variable were not there.
TEST(SettingsTest, PassOverEmptyValues) {
  EXPECT_THAT(Read({"TWINMMU_DEVICES=", "TWINMMU_PROFILE="}), IsOk());
}

// Of several with one name the first counts, as for getenv. A line need not have a value.
TEST(SettingsTest, TakeEnvironmentsOfAnyKind) {
  EXPECT_EQ(Read({"TWINMMU_DEVICES=3", "TWINMMU_DEVICES=4"})->profile.device_count(), 3);
  EXPECT_THAT(Read({"TWINMMU_DEVICES", "", "="}), IsOk());
  EXPECT_THAT(ReadSettings(nullptr), IsOk());
  const char* const lines[] = {"TWINMMU_REPORTS=no", "TWINMMU_REPORT=a=b", nullptr};
  EXPECT_EQ(ValueOf(lines, "TWINMMU_REPORT"), "a=b");
  EXPECT_EQ(ValueOf(lines, "TWINMMU_FAIL"), "");
}

TEST(SettingsTest, WarnOfVariablesThatDoNotExist) {
  const auto settings = Read({"TWINMMU_DEVICE=3", "TWINMMUX=1", "TWINMMU_STRICT=1"});
  ASSERT_THAT(settings, IsOk());
  EXPECT_THAT(settings->warnings, ElementsAre(HasSubstr("TWINMMU_DEVICE ")));
}

// docs/guide/libcuda.md has a line for each variable, in the same order, and for no other.
TEST(SettingsTest, AreInTheTableOfTheDocument) {
  std::vector<std::string> expected;
  for (const Variable& variable : AllVariables()) {
    expected.push_back(std::string("| ") + variable.name + " | " + variable.what + " | " +
                       variable.example + " |");
  }
  std::ifstream document("docs/guide/libcuda.md");
  std::vector<std::string> found;
  for (std::string line; std::getline(document, line);) {
    if (line.compare(0, 10, "| TWINMMU_") != 0 && line.compare(0, 7, "| CUDA_") != 0) continue;
    found.push_back(line.substr(0, line.rfind(" |", line.rfind(" |") - 1) + 2));
  }
  EXPECT_EQ(found, expected);
}

// Each example is a value that the variable can have.
TEST(SettingsTest, HaveExamplesThatWork) {
  for (const Variable& variable : AllVariables()) {
    EXPECT_THAT(Read({std::string(variable.name) + "=" + variable.example}), IsOk());
  }
}

// By these a program tells the devices apart, whatever their ordinals are.
TEST(SettingsTest, KeepTheBusAndUuidOfAVisibleDevice) {
  const absl::StatusOr<Settings> all = Read({"TWINMMU_DEVICES=3"});
  const absl::StatusOr<Settings> visible = Read({"TWINMMU_DEVICES=3", "CUDA_VISIBLE_DEVICES=2,1"});
  ASSERT_TRUE(all.ok() && visible.ok());
  for (const auto& [ordinal, number] : {std::pair(0, 2), std::pair(1, 1)}) {
    EXPECT_EQ(PciAddressOf(visible->profile, ordinal), PciAddressOf(all->profile, number));
    EXPECT_EQ(UuidOf(visible->profile, ordinal), UuidOf(all->profile, number));
  }
  EXPECT_NE(UuidOf(all->profile, 0), UuidOf(all->profile, 1));
}

}  // namespace
}  // namespace twinmmu::libcuda
