// Writes what random programs are told by a driver: --driver=LIBRARY --programs=N --calls=N
// --devices=1|2
//
//   write_transcripts --driver=libcuda.so.1 --programs=24 --calls=400 | zstd -19 > h100.txt.zst

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
  std::string programs = "24";
  std::string calls = "400";
  std::string devices = "1";
  for (int i = 1; i < argc; ++i) {
    if (Take(argv[i], "--driver=", &driver) || Take(argv[i], "--programs=", &programs) ||
        Take(argv[i], "--calls=", &calls) || Take(argv[i], "--devices=", &devices)) {
      continue;
    }
    std::fprintf(stderr,
                 "usage: %s [--driver=LIBRARY] [--programs=N] [--calls=N] [--devices=1|2]\n",
                 argv[0]);
    return 2;
  }
  twinmmu::abi::SetDriver(driver);
  for (int seed = 1; seed <= std::atoi(programs.c_str()); ++seed) {
    std::printf("program %d %s %s\n", seed, calls.c_str(), devices.c_str());
    const auto lines = twinmmu::abi::TranscriptOf(
        static_cast<uint64_t>(seed), std::atoi(calls.c_str()), std::atoi(devices.c_str()));
    for (const std::string& line : lines) std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }
  return 0;
}
