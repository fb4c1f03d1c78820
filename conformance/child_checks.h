// ChildChecks: how a test's child process says what it saw.

#ifndef TWINMMU_CONFORMANCE_CHILD_CHECKS_H_
#define TWINMMU_CONFORMANCE_CHILD_CHECKS_H_

#include <sys/wait.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/driver_error.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {

// GoogleTest's assertions of a child do not reach its parent; its exit code and stderr do.
//
//   EXPECT_EXIT(child(), ChildChecks::Passed(), "");
class ChildChecks {
 public:
  // A code that a child has only from Exit(): one that was skipped, or never came so far, exits
  // with 0 or 1.
  static ::testing::ExitedWithCode Passed() { return ::testing::ExitedWithCode(kPassed); }

  // The same, or a signal: for what may end the process.
  static bool PassedOrEnded(int status) { return WIFSIGNALED(status) || Passed()(status); }

  void Expect(const std::string& step, const absl::Status& status, DriverCode expected) {
    const DriverCode seen = GetDriverCode(status);
    if (seen == expected) return;
    failed_ = true;
    std::cerr << step << ": expected " << expected << ", got " << seen << " (" << status << ")\n";
  }

  template <typename T>
  void ExpectValue(const std::string& step, const absl::StatusOr<T>& seen, const T& expected) {
    if (seen.ok() && *seen == expected) return;
    failed_ = true;
    std::cerr << step << ": expected " << expected << ", got ";
    if (seen.ok()) {
      std::cerr << *seen << "\n";
    } else {
      std::cerr << seen.status() << "\n";
    }
  }

  // Ends the process without destructors: after a fault there is nothing to clean up with.
  [[noreturn]] void Exit() const { std::_Exit(failed_ ? 1 : kPassed); }

 private:
  static constexpr int kPassed = 42;

  bool failed_ = false;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_CHILD_CHECKS_H_
