// Simulated machines for random sequences.

#ifndef TWINMMU_CONFORMANCE_INSTANCES_RANDOM_RANDOM_SIM_H_
#define TWINMMU_CONFORMANCE_INSTANCES_RANDOM_RANDOM_SIM_H_

#include "conformance/random/run_seeds.h"
#include "sim/profile/profile.h"

namespace twinmmu::conformance::random {

// What the model must know of a machine with this profile, which has virtual memory management.
ModelParameters ParametersOf(const Profile& profile);

// A new simulator each time.
OpenSubject SimSubject(const Profile& profile);

}  // namespace twinmmu::conformance::random

#endif  // TWINMMU_CONFORMANCE_INSTANCES_RANDOM_RANDOM_SIM_H_
