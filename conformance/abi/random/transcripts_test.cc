// Each random program is told by the simulated driver what the genuine one told it.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "conformance/abi/driver_under_test.h"
#include "conformance/abi/random/transcript.h"
#include "conformance/abi/random/unpacked.h"
#include "gtest/gtest.h"

namespace twinmmu::abi {
namespace {

struct Recorded {
  RandomProgram program;
  std::vector<std::string> lines;
  bool ended = false;  // by the genuine driver, whose next line nobody knows
};

constexpr char kEnded[] = "the process ended by";

std::vector<std::string> recordings;  // the files

std::vector<Recorded> ReadRecording(const std::string& recording) {
  std::vector<Recorded> programs;
  std::istringstream in(Unpacked(recording));
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("program ", 0) == 0) {
      RandomProgram program;
      std::istringstream(line.substr(8)) >> program.seed >> program.calls >> program.devices >>
          program.theme;
      programs.push_back({program, {}});
    } else if (line.rfind(kEnded, 0) == 0) {
      programs.back().ended = true;
    } else {
      programs.back().lines.push_back(line);
    }
  }
  return programs;
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
  for (const std::string& recording : recordings) {
    const std::vector<Recorded> programs = ReadRecording(recording);
    ASSERT_FALSE(programs.empty()) << recording;
    for (const auto& [program, lines, ended] : programs) {
      auto told = TranscriptOf(program);
      if (ended) told.resize(std::min(told.size(), lines.size()));
      EXPECT_EQ(Difference(lines, told), "")
          << "program " << program.seed << ' ' << program.theme << " of " << recording;
    }
  }
}

}  // namespace
}  // namespace twinmmu::abi

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 3) return 2;
  twinmmu::abi::SetDriver(argv[1]);
  twinmmu::abi::recordings.assign(argv + 2, argv + argc);
  return RUN_ALL_TESTS();
}
