// GoogleMock matchers for absl::Status, absl::StatusOr and the driver's code inside them.
//
//   EXPECT_THAT(vmm.Release(handle), IsOk());
//   EXPECT_THAT(vmm.GetAccess(location, address), IsOkAndHolds(Access::kRead));
//   EXPECT_THAT(vmm.Unmap(hole), HasDriverCode(DriverCode::kInvalidValue));
//   EXPECT_THAT(pool.Grow(size), HasDriverError(DriverCode::kOutOfMemory, "cuMemCreate"));
//   EXPECT_THAT(pool.Allocate(...), StatusIs(absl::StatusCode::kResourceExhausted));
//
// Each takes a Status or a StatusOr. A failing match prints the whole status, payload included.
// There is no "is not OK": name the error that you expect.

#ifndef TWINMMU_API_TESTING_MATCHERS_H_
#define TWINMMU_API_TESTING_MATCHERS_H_

#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/driver_error.h"
#include "api/testing/googletest.h"

namespace twinmmu {
namespace testing_internal {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// "OK", or the status with the driver's code, call and origin.
std::string Describe(const absl::Status& status);

}  // namespace testing_internal

MATCHER(IsOk, negation ? "is an error" : "is OK") {
  const absl::Status& status = testing_internal::StatusOf(arg);
  *result_listener << "which is " << testing_internal::Describe(status);
  return status.ok();
}

MATCHER_P(StatusIs, code,
          std::string(negation ? "is not " : "is ") + absl::StatusCodeToString(code)) {
  const absl::Status& status = testing_internal::StatusOf(arg);
  *result_listener << "which is " << testing_internal::Describe(status);
  return status.code() == code;
}

MATCHER_P(HasDriverCode, code,
          std::string(negation ? "does not carry " : "carries ") + DriverCodeName(code)) {
  const absl::Status& status = testing_internal::StatusOf(arg);
  *result_listener << "which is " << testing_internal::Describe(status);
  // An error without a driver code does not match CUDA_ERROR_UNKNOWN.
  const bool has_code = status.ok() || GetDriverError(status).has_value();
  return has_code && GetDriverCode(status) == code;
}

// The code, and the driver's name of the call, or a matcher for it.
MATCHER_P2(HasDriverError, code, call,
           std::string(negation ? "does not carry " : "carries ") + DriverCodeName(code) +
               " of a call that " + testing::DescribeMatcher<const std::string&>(call)) {
  const absl::Status& status = testing_internal::StatusOf(arg);
  *result_listener << "which is " << testing_internal::Describe(status);
  const std::optional<DriverError> error = GetDriverError(status);
  return error.has_value() && error->code == code &&
         testing::Matches(testing::SafeMatcherCast<const std::string&>(call))(error->call);
}

// Who raised the error: ErrorOrigin::kInjected for one from a FaultPlan.
MATCHER_P(HasErrorOrigin, origin,
          std::string(negation ? "does not come from: " : "comes from: ") +
              std::string(ToString(origin))) {
  const absl::Status& status = testing_internal::StatusOf(arg);
  *result_listener << "which is " << testing_internal::Describe(status);
  const std::optional<DriverError> error = GetDriverError(status);
  return error.has_value() && error->origin == origin;
}

MATCHER_P(IsOkAndHolds, value_matcher,
          std::string(negation ? "is an error or holds a value that does not match "
                               : "is OK and holds a value that ") +
              testing::DescribeMatcher<typename std::decay_t<arg_type>::value_type>(value_matcher,
                                                                                    negation)) {
  if (!arg.ok()) {
    *result_listener << "which is " << testing_internal::Describe(arg.status());
    return false;
  }
  return testing::ExplainMatchResult(value_matcher, *arg, result_listener);
}

}  // namespace twinmmu

// Declares `declaration` from the value of a StatusOr, or fails the test and returns.
//   TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, vmm.AddressReserve(size));
#define TWINMMU_ASSERT_OK_AND_ASSIGN(declaration, expression)                               \
  TWINMMU_INTERNAL_ASSERT_OK_AND_ASSIGN(TWINMMU_INTERNAL_CONCAT(twinmmu_result_, __LINE__), \
                                        declaration, expression)
#define TWINMMU_INTERNAL_ASSERT_OK_AND_ASSIGN(result, declaration, expression) \
  auto result = (expression);                                                  \
  ASSERT_THAT(result, ::twinmmu::IsOk());                                      \
  declaration = *std::move(result)
#define TWINMMU_INTERNAL_CONCAT(a, b) TWINMMU_INTERNAL_CONCAT_EXPANDED(a, b)
#define TWINMMU_INTERNAL_CONCAT_EXPANDED(a, b) a##b

#endif  // TWINMMU_API_TESTING_MATCHERS_H_
