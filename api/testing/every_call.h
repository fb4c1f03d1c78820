// Makes every call of an interface once, for tests of wrappers: none is forgotten or mixed up.

#ifndef TWINMMU_API_TESTING_EVERY_CALL_H_
#define TWINMMU_API_TESTING_EVERY_CALL_H_

#include <vector>

#include "absl/status/status.h"
#include "api/driver_call.h"
#include "api/executor.h"
#include "api/multicast.h"
#include "api/sparse_arrays.h"
#include "api/vmm.h"

namespace twinmmu::testing_internal {

struct MadeCall {
  DriverCall call;
  const char* method;  // "Map"; "Fill" for both overloads of Fill
  absl::Status status;
};

// In the order of DriverCall. The arguments are not valid on any machine.
std::vector<MadeCall> MakeEveryCall(Vmm& vmm);
std::vector<MadeCall> MakeEveryCall(Executor& executor);
std::vector<MadeCall> MakeEveryCall(Multicast& multicast);
std::vector<MadeCall> MakeEveryCall(SparseArrays& arrays);

}  // namespace twinmmu::testing_internal

#endif  // TWINMMU_API_TESTING_EVERY_CALL_H_
