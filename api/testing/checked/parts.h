// What all calls of CheckedVmm share.

#ifndef TWINMMU_API_TESTING_CHECKED_PARTS_H_
#define TWINMMU_API_TESTING_CHECKED_PARTS_H_

#include <utility>

#include "absl/status/status.h"
#include "api/testing/checked/book.h"
#include "api/testing/checked/call.h"
#include "api/testing/checked/findings.h"
#include "api/testing/checked_vmm.h"

namespace twinmmu {

struct CheckedVmm::Parts {
  Parts(Vmm* vmm, CheckedVmmOptions how)
      : target(*vmm),
        options(std::move(how)),
        book(options.calls_remembered, options.diagnostics_kept, options.at_once) {}

  Vmm& target;
  const CheckedVmmOptions options;
  checked::Book book;
};

namespace checked {

bool IsInvalidValue(const absl::Status& status);

// The findings if they are what the driver may have meant.
Findings MeantBy(const absl::Status& refused, Findings findings);

// Ends a call whose outcome is not defined. With book.mutex held.
absl::Status RefuseUndefined(CheckedCall& call, const Findings& findings);

}  // namespace checked
}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_CHECKED_PARTS_H_
