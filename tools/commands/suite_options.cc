#include "tools/commands/suite_options.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace twinmmu {

conformance::RunOptions RunnerOptions(const SuiteOptions& options, Screen& screen) {
  conformance::RunOptions runner;
  runner.require_hardware = options.require_hardware;
  runner.strict_reference = options.strict_reference;
  runner.baseline_path = options.baseline;
  runner.write_baseline_path = options.write_baseline;
  runner.filter = options.filter;
  runner.xml_path = options.xml;
  runner.markdown_path = options.markdown;
  runner.out = &screen.wrong();
  runner.quiet = screen.quiet();
  runner.style = {screen.terminal().width, screen.terminal().colour};
  runner.count = [&screen](int begun, int total, const std::string& test) {
    if (begun == 0) {
      screen.progress().Clear();
    } else {
      screen.progress().Show(absl::StrFormat("[%3d/%3d] %s", begun, total, test));
    }
  };
  return runner;
}

absl::Status CheckCanWrite(const std::string& path) {
  if (path.empty() || std::ofstream(path, std::ios::app)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
}

}  // namespace twinmmu
