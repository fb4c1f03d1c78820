// Writes what a driver answers where arguments are left out: write_answers [LIBRARY]
//
//   write_answers libcuda.so.1 | zstd -19 > h200.txt.zst

#include <cstdio>
#include <string>
#include <vector>

#include "conformance/abi/arguments/answers.h"
#include "conformance/abi/driver_under_test.h"

int main(int argc, char** argv) {
  if (argc > 2) {
    std::fprintf(stderr, "usage: %s [LIBRARY]\n", argv[0]);
    return 2;
  }
  twinmmu::abi::SetDriver(argc == 2 ? argv[1] : "libcuda.so.1");
  for (const twinmmu::abi::CallState state : twinmmu::abi::kCallStates) {
    const std::vector<std::string> answers = twinmmu::abi::AnswersIn(state);
    if (answers.empty()) {
      std::fprintf(stderr, "the driver does not make what the calls need (%s)\n",
                   twinmmu::abi::NameOf(state).c_str());
      return 1;
    }
    for (const std::string& line : answers) std::printf("%s\n", line.c_str());
  }
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  std::perror("the answers cannot be written");
  return 1;
}
