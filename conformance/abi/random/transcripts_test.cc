// Each random program is told by the simulated driver what the genuine one told it.

#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "conformance/abi/driver_under_test.h"
#include "conformance/abi/random/transcript.h"
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

// What was packed with Zstandard; empty: it is no such file.
std::string Unpacked(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string packed{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(),
                                                                          &ZSTD_freeDStream);
  ZSTD_inBuffer from = {packed.data(), packed.size(), 0};
  std::string text;
  std::vector<char> piece(ZSTD_DStreamOutSize());
  while (true) {
    ZSTD_outBuffer to = {piece.data(), piece.size(), 0};
    const size_t more = ZSTD_decompressStream(stream.get(), &to, &from);
    if (ZSTD_isError(more)) return "";
    text.append(piece.data(), to.pos);
    if (from.pos == from.size && to.pos < to.size) return more == 0 ? text : "";
  }
}

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
