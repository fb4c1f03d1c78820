// Writes what a driver answers to each value of each field: write_values LIBRARY [CASE...]
//
//   write_values libcuda.so.1 | zstd -19 > h200.txt.zst
//   write_values libcuda.so.1 cuMemcpy2D cuArray3DCreate/row
//
// CASE is the beginning of names of cases.

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "conformance/abi/driver_under_test.h"
#include "conformance/abi/values/case_answers.h"
#include "conformance/abi/values/cases/all_cases.h"

namespace twinmmu::abi {
namespace {

bool IsWanted(const Case& one, const std::vector<std::string>& beginnings) {
  const std::string name = one.name;
  return beginnings.empty() ||
         std::any_of(beginnings.begin(), beginnings.end(),
                     [&](const std::string& beginning) { return name.rfind(beginning, 0) == 0; });
}

int Run(const std::vector<std::string>& beginnings) {
  OpenedDriver();
  size_t made = 0;
  bool has_all = true;
  for (const Case& one : AllCases()) {
    if (!IsWanted(one, beginnings)) continue;
    ++made;
    const CaseAnswers answers = AnswersTo(one);
    if (answers.lines.empty()) {
      has_all = false;
      std::fprintf(stderr, "%s\n", answers.trouble.c_str());
      if (!answers.has_begun) return 1;  // nor would the others
    }
    for (const std::string& line : answers.lines) std::printf("%s\n", line.c_str());
  }
  if (made == 0) {
    std::fprintf(stderr, "no case begins so; there are:");
    for (const Case& one : AllCases()) std::fprintf(stderr, " %s", one.name);
    std::fprintf(stderr, "\n");
    return 2;
  }
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return has_all ? 0 : 1;
  std::perror("the answers cannot be written");
  return 1;
}

}  // namespace
}  // namespace twinmmu::abi

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s LIBRARY [CASE...]\n", argv[0]);
    return 2;
  }
  twinmmu::abi::SetDriver(argv[1]);
  return twinmmu::abi::Run({argv + 2, argv + argc});
}
