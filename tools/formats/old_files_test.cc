// Files that earlier versions wrote or read are still read. Each version has a folder of them in
// testdata, where nothing changes any more once the version is out (docs/reference/stability.md).

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/testing/recording/replay.h"
#include "api/version.h"
#include "conformance/framework/baseline.h"
#include "conformance/instances/replay/replay_sim.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "sim/coherence/litmus/litmus.h"
#include "sim/profile/profile_json.h"
#include "tools/annotations/annotations.h"

namespace twinmmu {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

constexpr char kFolders[] = "tools/formats/testdata";

std::vector<std::string> Versions() {
  std::vector<std::string> versions;
  for (const auto& entry : std::filesystem::directory_iterator(kFolders)) {
    versions.push_back(entry.path().filename());
  }
  std::sort(versions.begin(), versions.end());
  return versions;
}

std::string PathOf(const std::string& version, const std::string& name) {
  return absl::StrCat(kFolders, "/", version, "/", name);
}

std::ifstream Open(const std::string& version, const std::string& name) {
  std::ifstream file(PathOf(version, name));
  EXPECT_TRUE(file.is_open()) << version << " has no " << name;
  return file;
}

std::string Read(const std::string& version, const std::string& name) {
  std::stringstream text;
  text << Open(version, name).rdbuf();
  return text.str();
}

// The keys and what they hold, at any depth: {"/window/base": "0x0", ...}.
json Flat(const std::string& text) { return json::parse(text).flatten(); }

class OldFilesTest : public testing::TestWithParam<std::string> {};

TEST_P(OldFilesTest, AProfileMeansWhatItMeant) {
  const std::string text = Read(GetParam(), "profile.json");
  const absl::StatusOr<Profile> profile = ParseProfile(text);
  ASSERT_TRUE(profile.ok()) << profile.status();
  const json now = Flat(ToJson(*profile));
  json then = Flat(text);
  then.erase("/base");
  for (const auto& [key, value] : then.items()) {
    EXPECT_EQ(now.value(key, json()), value) << key;
  }
}

TEST_P(OldFilesTest, ARecordingIsPlayed) {
  for (const char* name : {"recording.jsonl", "recording.jsonl.zst"}) {
    const absl::StatusOr<ReplayReport> report =
        Replay(absl::StrCat(kFolders, "/", GetParam(), "/", name), conformance::SimReplayOptions());
    ASSERT_TRUE(report.ok()) << name << ": " << report.status();
    EXPECT_GT(report->calls, 50u) << name;
  }
}

TEST_P(OldFilesTest, LitmusTestsAreRead) {
  const auto file = LineReader::Open(PathOf(GetParam(), "litmus.jsonl")).value();
  const std::vector<coherence::LitmusLine> lines = coherence::AllLitmus(*file);
  EXPECT_FALSE(lines.empty());
  for (const coherence::LitmusLine& line : lines) {
    EXPECT_TRUE(line.test.ok()) << line.name << ": " << line.test.status();
  }
}

TEST_P(OldFilesTest, ABaselineIsRead) {
  std::ifstream file = Open(GetParam(), "baseline.txt");
  // Of no verdicts: what comes back is what cannot be read.
  EXPECT_THAT(conformance::CompareWithBaseline({}, file), IsEmpty());
}

TEST_P(OldFilesTest, AReportIsRead) {
  const auto file = LineReader::Open(PathOf(GetParam(), "report.jsonl")).value();
  EXPECT_THAT(ReadAnnotations(*file, "").value(),
              ElementsAre(Field(&Annotation::kind, "kDoubleRelease"),
                          Field(&Annotation::kind, "kLeakedMapping"),
                          Field(&Annotation::kind, "kLeakedReservation")));
}

INSTANTIATE_TEST_SUITE_P(AllVersions, OldFilesTest, testing::ValuesIn(Versions()));

TEST(ThisVersionTest, HasAFolderWithEveryKeyOfAProfile) {
  const json known = Flat(Read(kVersion, "profile.json"));
  const json keys = Flat(ToJson(Profile::ReferenceH200()));
  for (const auto& [key, unused] : keys.items()) {
    if (key.find("/attributes/") == std::string::npos) {
      EXPECT_TRUE(known.contains(key)) << key;
    }
  }
}

}  // namespace
}  // namespace twinmmu
