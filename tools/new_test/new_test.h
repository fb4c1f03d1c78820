// LayOutTest: a small allocator test of a user's own.

#ifndef TWINMMU_TOOLS_NEW_TEST_NEW_TEST_H_
#define TWINMMU_TOOLS_NEW_TEST_NEW_TEST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace twinmmu {

struct NewTest {
  std::string folder;  // absolute
  std::string build;   // "bazel", "cmake"
  std::string source;  // absolute, the tree of TwinMMU; empty with CMake: the installed one
};

// Writes the files, and returns their names. The folder must be empty, or not be there; above it
// there must be one. An error leaves everything as it was, and says what to do.
//   InvalidArgument    the build or the source is wrong
//   AlreadyExists      the folder is a file, or is not empty
//   NotFound           the folder above is not there
//   PermissionDenied   a file cannot be written
absl::StatusOr<std::vector<std::string>> LayOutTest(const NewTest& test);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_NEW_TEST_NEW_TEST_H_
