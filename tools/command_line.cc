#include "tools/command_line.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace twinmmu {

Arguments ReadArguments(int argc, const char* const* argv) {
  constexpr absl::string_view kFail = "--fail=";
  Arguments arguments;
  std::vector<std::string> rules;
  for (int i = 0; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--") {
      arguments.program.assign(argv + i + 1, argv + argc);
      break;
    }
    if (absl::StartsWith(argument, "--gtest_")) continue;
    if (absl::StartsWith(argument, "--")) {
      std::replace(argument.begin() + 2,
                   argument.begin() + std::min(argument.find('='), argument.size()), '-', '_');
    }
    if (argument == "--error_exitcode") argument = "--error_exitcode=99";
    if (argument == "--fail" && i + 1 < argc) argument = absl::StrCat(kFail, argv[++i]);
    if (absl::StartsWith(argument, kFail)) {
      rules.push_back(argument.substr(kFail.size()));
    } else {
      arguments.own.push_back(std::move(argument));
    }
  }
  if (!rules.empty()) arguments.own.push_back(absl::StrCat(kFail, absl::StrJoin(rules, ";")));
  return arguments;
}

}  // namespace twinmmu
