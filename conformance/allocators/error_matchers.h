// IsError: a status by its code and its words.

#ifndef TWINMMU_CONFORMANCE_ALLOCATORS_ERROR_MATCHERS_H_
#define TWINMMU_CONFORMANCE_ALLOCATORS_ERROR_MATCHERS_H_

#include <string>

#include "api/testing/matchers.h"
#include "gmock/gmock.h"

namespace twinmmu::conformance {

// A Status or StatusOr of this code, whose message matches.
MATCHER_P2(IsError, code, message,
           std::string(negation ? "is not " : "is ") + absl::StatusCodeToString(code) +
               " with a message that " +
               testing::DescribeMatcher<const std::string&>(message, false)) {
  const absl::Status& status = testing_internal::StatusOf(arg);
  *result_listener << "which is " << testing_internal::Describe(status);
  return status.code() == code && testing::Matches(message)(std::string(status.message()));
}

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_ALLOCATORS_ERROR_MATCHERS_H_
