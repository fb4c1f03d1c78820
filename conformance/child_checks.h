// ChildChecks: how a test's child process says what it saw.

#ifndef TWINMMU_CONFORMANCE_CHILD_CHECKS_H_
#define TWINMMU_CONFORMANCE_CHILD_CHECKS_H_

#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/status/status.h"
#include "api/driver_error.h"

namespace twinmmu::conformance {

// GoogleTest's assertions of a child do not reach its parent; its exit code and stderr do.
class ChildChecks {
 public:
  void Expect(const std::string& step, const absl::Status& status, DriverCode expected) {
    const DriverCode seen = GetDriverCode(status);
    if (seen == expected) return;
    failed_ = true;
    std::cerr << step << ": expected " << expected << ", got " << seen << " (" << status << ")\n";
  }

  // Ends the process without destructors: after a fault there is nothing to clean up with.
  [[noreturn]] void Exit() const { std::_Exit(failed_ ? 1 : 0); }

 private:
  bool failed_ = false;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_CHILD_CHECKS_H_
