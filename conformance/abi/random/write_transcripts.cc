// Writes what random programs are told by a driver: --driver=LIBRARY --first=SEED --programs=N
// --calls=N --devices=1|2 --theme=NAME
//
//   write_transcripts --driver=libcuda.so.1 --programs=24 --calls=400 | zstd -19 > h100.txt.zst

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "conformance/abi/driver_under_test.h"
#include "conformance/abi/random/transcript.h"

namespace {

using twinmmu::abi::RandomProgram;

bool Take(const char* argument, const char* name, std::string* value) {
  if (std::strncmp(argument, name, std::strlen(name)) != 0) return false;
  *value = argument + std::strlen(name);
  return true;
}

// False, too, if it is no number.
template <typename Number>
bool TakeNumber(const char* argument, const char* name, Number* value) {
  std::string text;
  if (!Take(argument, name, &text)) return false;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, *value);
  return read.ec == std::errc() && read.ptr == end;
}

bool IsPossible(const RandomProgram& program) {
  const std::vector<std::string> themes = twinmmu::abi::Themes();
  const bool has_theme = std::find(themes.begin(), themes.end(), program.theme) != themes.end();
  const bool has_devices = program.devices == 1 || program.devices == 2;
  return program.calls > 0 && has_devices && has_theme &&
         (program.devices == 1 || program.theme == RandomProgram().theme);
}

int Usage(const char* name) {
  std::fprintf(stderr,
               "usage: %s [--driver=LIBRARY] [--first=SEED] [--programs=N] [--calls=N]\n"
               "       [--devices=1|2] [--theme=NAME]\nThemes of programs on one device:",
               name);
  for (const std::string& theme : twinmmu::abi::Themes())
    std::fprintf(stderr, " %s", theme.c_str());
  std::fprintf(stderr, "\n");
  return 2;
}

// Says on stderr why, if not.
bool Write(const RandomProgram& program) {
  std::printf("program %llu %d %d %s\n", static_cast<unsigned long long>(program.seed),
              program.calls, program.devices, program.theme.c_str());
  const std::vector<std::string> lines = TranscriptOf(program);
  for (const std::string& line : lines) std::printf("%s\n", line.c_str());
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::perror("the transcript cannot be written");
    return false;
  }
  if (lines.size() > 1) return true;
  std::fprintf(stderr, "the driver did not answer the first call of program %llu\n",
               static_cast<unsigned long long>(program.seed));
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  std::string driver = "libcuda.so.1";
  uint64_t programs = 24;
  RandomProgram program;
  for (int i = 1; i < argc; ++i) {
    if (!Take(argv[i], "--driver=", &driver) && !TakeNumber(argv[i], "--first=", &program.seed) &&
        !TakeNumber(argv[i], "--programs=", &programs) &&
        !TakeNumber(argv[i], "--calls=", &program.calls) &&
        !TakeNumber(argv[i], "--devices=", &program.devices) &&
        !Take(argv[i], "--theme=", &program.theme)) {
      return Usage(argv[0]);
    }
  }
  if (!IsPossible(program)) return Usage(argv[0]);
  twinmmu::abi::SetDriver(driver);
  for (uint64_t i = 0; i < programs; ++i, ++program.seed) {
    if (!Write(program)) return 1;
  }
  return 0;
}
