// What the search of small machines compares.

#ifndef TWINMMU_CONFORMANCE_CAMPAIGN_SMALL_SCOPE_SIDES_H_
#define TWINMMU_CONFORMANCE_CAMPAIGN_SMALL_SCOPE_SIDES_H_

#include <string>

#include "conformance/small_scope/search.h"
#include "sim/profile/profile.h"

namespace twinmmu::conformance::small_scope {

// A simulator, and what it diagnoses itself.
OpenSide SimSide(const Profile& profile);

// The backend over `library`, a libcuda.so.1 of sim/libcuda that the environment tells to simulate
// this profile, and what CheckedVmm diagnoses of the calls; nothing of the latter where the machine
// departs from the reference.
OpenSide CudaOnSimSide(const std::string& library, const Profile& profile);

}  // namespace twinmmu::conformance::small_scope

#endif  // TWINMMU_CONFORMANCE_CAMPAIGN_SMALL_SCOPE_SIDES_H_
