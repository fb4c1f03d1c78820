// Writes what random programs are told by a driver: --driver=LIBRARY --first=SEED --programs=N
// --calls=N --devices=1|2 --theme=NAME
//
//   write_transcripts --driver=libcuda.so.1 --programs=24 --calls=400 | zstd -19 > h100.txt.zst

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "conformance/abi/driver_under_test.h"
#include "conformance/abi/random/transcript.h"

namespace {

bool Take(const char* argument, const char* name, std::string* value) {
  if (std::strncmp(argument, name, std::strlen(name)) != 0) return false;
  *value = argument + std::strlen(name);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::string driver = "libcuda.so.1";
  std::string first = "1";
  std::string programs = "24";
  std::string calls = "400";
  std::string devices = "1";
  twinmmu::abi::RandomProgram program;
  for (int i = 1; i < argc; ++i) {
    if (Take(argv[i], "--driver=", &driver) || Take(argv[i], "--first=", &first) ||
        Take(argv[i], "--programs=", &programs) || Take(argv[i], "--calls=", &calls) ||
        Take(argv[i], "--devices=", &devices) || Take(argv[i], "--theme=", &program.theme)) {
      continue;
    }
    std::fprintf(stderr,
                 "usage: %s [--driver=LIBRARY] [--first=SEED] [--programs=N] [--calls=N]\n"
                 "       [--devices=1|2] [--theme=NAME]\nThemes of programs on one device:",
                 argv[0]);
    for (const std::string& theme : twinmmu::abi::Themes()) {
      std::fprintf(stderr, " %s", theme.c_str());
    }
    std::fprintf(stderr, "\n");
    return 2;
  }
  twinmmu::abi::SetDriver(driver);
  program.calls = std::atoi(calls.c_str());
  program.devices = std::atoi(devices.c_str());
  program.seed = std::strtoull(first.c_str(), nullptr, 10);
  const uint64_t end = program.seed + std::strtoull(programs.c_str(), nullptr, 10);
  for (; program.seed < end; ++program.seed) {
    std::printf("program %llu %d %d %s\n", static_cast<unsigned long long>(program.seed),
                program.calls, program.devices, program.theme.c_str());
    for (const std::string& line : TranscriptOf(program)) std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }
  return 0;
}
