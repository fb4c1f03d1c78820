// The default answers of mocks.

#ifndef TWINMMU_API_TESTING_UNEXPECTED_CALL_H_
#define TWINMMU_API_TESTING_UNEXPECTED_CALL_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace twinmmu::testing_internal {

// `mock` and `call` as in "MockVmm" and "Map".
inline absl::Status UnexpectedCall(absl::string_view mock, absl::string_view call) {
  return absl::UnimplementedError(absl::StrCat(
      mock, " has no answer to ", call,
      ": give EXPECT_CALL or ON_CALL an action, or let DelegateTo() name who answers"));
}

}  // namespace twinmmu::testing_internal

#endif  // TWINMMU_API_TESTING_UNEXPECTED_CALL_H_
