// Writes what a driver answers where arguments are left out: write_answers LIBRARY [STATE...]
//
//   write_answers libcuda.so.1 | zstd -19 > h200.txt.zst
//   write_answers libcuda.so.1 kernel-node fault

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "conformance/abi/arguments/answers.h"
#include "conformance/abi/driver_under_test.h"

namespace twinmmu::abi {
namespace {

bool WriteIn(CallState state) {
  const std::vector<std::string> answers = AnswersIn(state);
  if (answers.empty()) {
    std::fprintf(stderr, "the driver does not make what the calls need (%s)\n",
                 NameOf(state).c_str());
    return false;
  }
  for (const std::string& line : answers) std::printf("%s\n", line.c_str());
  return true;
}

int Run(const std::vector<std::string>& names) {
  size_t found = 0;
  for (const CallState state : AllCallStates()) {
    const size_t times = std::count(names.begin(), names.end(), NameOf(state));
    found += times;
    if ((times > 0 || names.empty()) && !WriteIn(state)) return 1;
  }
  if (found != names.size()) {
    std::fprintf(stderr, "no such state; there are:");
    for (const CallState state : AllCallStates())
      std::fprintf(stderr, " %s", NameOf(state).c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  std::perror("the answers cannot be written");
  return 1;
}

}  // namespace
}  // namespace twinmmu::abi

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s LIBRARY [STATE...]\n", argv[0]);
    return 2;
  }
  twinmmu::abi::SetDriver(argv[1]);
  return twinmmu::abi::Run({argv + 2, argv + argc});
}
