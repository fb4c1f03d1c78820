// The rules in docs/reference/contract.md. What stands there in words is written by hand; between
//   <!-- rules: cuMemMap -->
//   <!-- end of rules -->
// stand the rules of that call, as rules.inc and deviations.inc have them.

#ifndef TWINMMU_CONFORMANCE_RULES_CONTRACT_H_
#define TWINMMU_CONFORMANCE_RULES_CONTRACT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace twinmmu::conformance {

// `document` with the rules between its marks as they are now. InvalidArgument: marks that do not
// match, a call that has no rules, or one that has rules and not exactly one place for them.
absl::StatusOr<std::string> UpdateContract(absl::string_view document);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_RULES_CONTRACT_H_
