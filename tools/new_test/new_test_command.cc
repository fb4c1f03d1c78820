#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tools/commands/commands.h"
#include "tools/commands/failure.h"
#include "tools/new_test/new_test.h"

namespace twinmmu {
namespace {

namespace fs = std::filesystem;

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// `bazel run` changes the working directory, and says what it was.
std::string Absolute(const std::string& path) {
  const std::string before = Variable("BUILD_WORKING_DIRECTORY");
  const fs::path whole =
      before.empty() ? fs::absolute(path) : fs::path(before) / path;  // an absolute one stays
  std::string text = whole.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

const char* HowToBuild(const std::string& build) {
  return build == "bazel" ? "bazel test //..."
                          : "cmake -B build && cmake --build build && ctest --test-dir build";
}

}  // namespace

int NewTestCommand(const Options& options, Screen& screen) {
  if (options.operands.size() != 1) return UsageError("new-test needs the name of a folder.");
  NewTest test;
  test.folder = Absolute(options.operands.front());
  test.build = options.new_test.build;
  if (!options.new_test.source.empty()) {
    test.source = Absolute(options.new_test.source);
  } else if (test.build == "bazel") {
    test.source = Variable("BUILD_WORKSPACE_DIRECTORY");
  }
  const absl::StatusOr<std::vector<std::string>> files = LayOutTest(test);
  if (!files.ok()) {
    return Fail(files.status(), absl::IsInvalidArgument(files.status()) ? kUsageError : 1);
  }
  screen.text() << "Wrote to " << test.folder << ":\n";
  for (const std::string& file : *files) screen.text() << "  " << file << "\n";
  screen.text() << "Build and run the test:\n  cd " << test.folder << " && "
                << HowToBuild(test.build) << "\n";
  return 0;
}

}  // namespace twinmmu
