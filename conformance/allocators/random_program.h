// Random programs over pools and buffers, compared with a plain model step by step.
//
// A program has several objects at once, of all kinds. Each page in use holds a pattern, which
// streams write and which is read again later. After each step every answer of the object is what
// the model says, the driver was called no more often than the headers promise, memory that waits
// for work did not go before that was done, and what the devices lack is what the objects claim.

#ifndef TWINMMU_CONFORMANCE_ALLOCATORS_RANDOM_PROGRAM_H_
#define TWINMMU_CONFORMANCE_ALLOCATORS_RANDOM_PROGRAM_H_

#include <cstdint>
#include <string>

#include "api/address.h"
#include "api/executor.h"
#include "api/vmm.h"

namespace twinmmu::conformance {

struct RandomProgram {
  uint64_t seed = 1;
  uint64_t steps = 1000;
  // How likely it is that a call of the driver fails in a step.
  double failures = 0;
  // Nobody else uses the devices: free memory is compared.
  bool sole_user = true;
  // As in Traits (conformance/framework/target.h), while the program runs.
  Bytes driver_may_take;
};

struct RandomReport {
  uint64_t steps = 0;
  uint64_t driver_calls = 0;  // made by the objects
  Bytes peak;                 // the most that they held
  Bytes driver_took;          // what was not returned at the end, though no object holds it
  // Empty, or what differs, and the last steps before.
  std::string difference;
};

// Runs the program in memory of device 0, of which it takes no more than 1 GiB. The same program
// does the same again wherever streams do.
RandomReport Run(const RandomProgram& program, Vmm& vmm, Executor& executor);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_ALLOCATORS_RANDOM_PROGRAM_H_
