// What the driver answers to a case.

#ifndef TWINMMU_CONFORMANCE_ABI_VALUES_CASE_ANSWERS_H_
#define TWINMMU_CONFORMANCE_ABI_VALUES_CASE_ANSWERS_H_

#include <string>
#include <vector>

#include "conformance/abi/values/trial.h"

namespace twinmmu::abi {

struct CaseAnswers {
  // "cuMemcpy2D/row: SUCCESS", and one for each field: "cuMemcpy2D/row copy.Height: 0..4 SUCCESS;
  // ...".
  std::vector<std::string> lines;
  // Why there are none: the process ended, or a kernel faulted.
  std::string trouble;
  // False: the driver did not even make a context.
  bool has_begun = false;
};

// Makes all calls of the case in a process of its own. The caller's process must not have called
// the driver.
CaseAnswers AnswersTo(const Case& asked);

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_VALUES_CASE_ANSWERS_H_
