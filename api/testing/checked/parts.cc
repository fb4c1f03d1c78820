#include "api/testing/checked/parts.h"

#include "absl/strings/str_cat.h"
#include "api/driver_error.h"

namespace twinmmu::checked {

bool IsInvalidValue(const absl::Status& status) {
  return GetDriverCode(status) == DriverCode::kInvalidValue;
}

Findings MeantBy(const absl::Status& refused, Findings findings) {
  return IsInvalidValue(refused) ? std::move(findings) : Findings();
}

absl::Status RefuseUndefined(CheckedCall& call, const Findings& findings) {
  call.Refused(findings);
  return MakeDriverStatus({DriverCode::kInvalidValue, ErrorOrigin::kChecker, call.name()},
                          absl::StrCat(call.name(), ": ", *findings.front().if_refused));
}

}  // namespace twinmmu::checked
