// Each random program is told by the simulated driver what the genuine one told it.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/files/read_file.h"
#include "conformance/abi/driver_under_test.h"
#include "conformance/abi/random/transcript.h"
#include "gtest/gtest.h"

namespace twinmmu::abi {
namespace {

struct Recorded {
  uint64_t seed = 0;
  int calls = 0;
  std::vector<std::string> lines;
  bool ended = false;  // by the genuine driver, whose next line nobody knows
};

constexpr char kEnded[] = "the process ended by";

std::string recording;  // the file

std::vector<Recorded> ReadRecording() {
  std::vector<Recorded> programs;
  const absl::StatusOr<std::unique_ptr<LineReader>> lines = LineReader::Open(recording);
  if (!lines.ok()) {
    ADD_FAILURE() << lines.status();
    return programs;
  }
  for (;;) {
    const absl::StatusOr<std::optional<std::string>> line = (*lines)->Next();
    EXPECT_TRUE(line.ok()) << line.status();
    if (!line.ok() || !line->has_value()) return programs;
    unsigned long long seed = 0;
    int calls = 0;
    if (std::sscanf((*line)->c_str(), "program %llu %d", &seed, &calls) == 2) {
      programs.push_back({seed, calls, {}});
    } else if ((*line)->rfind(kEnded, 0) == 0) {
      programs.back().ended = true;
    } else {
      programs.back().lines.push_back(**line);
    }
  }
}

// The first line that differs, with what led to it.
std::string Difference(const std::vector<std::string>& recorded,
                       const std::vector<std::string>& told) {
  const size_t most = std::max(recorded.size(), told.size());
  const auto line = [](const std::vector<std::string>& lines, size_t i) {
    return i < lines.size() ? lines[i] : std::string("(the end)");
  };
  std::ostringstream out;
  for (size_t i = 0; i < most; ++i) {
    if (line(recorded, i) == line(told, i)) continue;
    for (size_t before = i > 4 ? i - 4 : 0; before < i; ++before) out << recorded[before] << '\n';
    out << "line " << i << ", recorded: " << line(recorded, i)
        << "\n  told here: " << line(told, i);
    return out.str();
  }
  return "";
}

TEST(TranscriptsTest, RandomProgramsAreToldWhatTheGenuineDriverTells) {
  const std::vector<Recorded> programs = ReadRecording();
  ASSERT_FALSE(programs.empty());
  for (const Recorded& program : programs) {
    auto told = TranscriptOf(program.seed, program.calls);
    if (program.ended) told.resize(std::min(told.size(), program.lines.size()));
    EXPECT_EQ(Difference(program.lines, told), "") << "program " << program.seed;
  }
}

}  // namespace
}  // namespace twinmmu::abi

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 3) return 2;
  twinmmu::abi::SetDriver(argv[1]);
  twinmmu::abi::recording = argv[2];
  return RUN_ALL_TESTS();
}
