// The recordings of real drivers, played on the simulator, as it is and through the backend and the
// driver's C interface: every difference is one that a mask explains. The arguments are the files.

#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "api/testing/matchers.h"
#include "conformance/campaign/campaign.h"
#include "conformance/instances/replay/replay_cuda_on_sim.h"
#include "conformance/instances/replay/replay_sim.h"
#include "conformance/recordings/masks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

class RecordingTest : public testing::Test {
 public:
  RecordingTest(std::string path, ReplayOptions options)
      : path_(std::move(path)), options_(std::move(options)) {}

 private:
  void TestBody() override {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const ReplayReport report, Replay(path_, options_));
    std::ostringstream text;
    for (const LineDifference& difference : report.differences) Print(difference, text);
    EXPECT_EQ(report.differences.size(), 0u) << text.str();
    EXPECT_GT(report.calls, 1000u);
    for (const auto& [mask, count] : report.masked) RecordProperty(mask, std::to_string(count));
  }

  const std::string path_;
  const ReplayOptions options_;
};

void Register(const std::string& suite, const std::string& path, const ReplayOptions& options) {
  const std::string name = path.substr(path.rfind('/') + 1);
  testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                        [=]() -> testing::Test* { return new RecordingTest(path, options); });
}

// Each recording in both ways. The random ones, which are the longest, take turns: in one of them,
// and with --config=campaign in both.
void RegisterAll(int argc, char** argv) {
  bool direct = false;  // whose turn it is
  for (int i = 1; i < argc; ++i) {
    const bool both = campaign::IsLong() || !absl::StrContains(argv[i], "random");
    if (!both) direct = !direct;
    if (both || direct) Register("Sim", argv[i], SimReplayOptions());
    if (both || !direct) Register("CudaOnSim", argv[i], CudaOnSimReplayOptions());
  }
}

// Words with one blank between them.
std::string Words(const std::string& text) {
  return absl::StrJoin(absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty()), " ");
}

TEST(MasksTest, TheDocumentHasThemAllTenAtMost) {
  std::ifstream file("docs/guide/recordings.md");
  const std::string document = Words({std::istreambuf_iterator<char>(file), {}});
  EXPECT_LE(SimulatorMasks().size(), 10u);
  for (const Mask& mask : SimulatorMasks()) {
    EXPECT_THAT(document,
                testing::HasSubstr(Words(absl::StrCat("* **", mask.name, "**: ", mask.reason))));
  }
}

}  // namespace
}  // namespace twinmmu::conformance

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  twinmmu::conformance::RegisterAll(argc, argv);
  if (argc < 2) {
    std::cerr << "There are no recordings to play.\n";
    return 1;
  }
  return RUN_ALL_TESTS();
}
