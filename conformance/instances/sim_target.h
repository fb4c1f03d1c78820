// The simulator as a target of the suite.

#ifndef TWINMMU_CONFORMANCE_INSTANCES_SIM_TARGET_H_
#define TWINMMU_CONFORMANCE_INSTANCES_SIM_TARGET_H_

#include <string>
#include <vector>

#include "api/diagnostics.h"
#include "api/driver.h"
#include "conformance/framework/target.h"
#include "sim/profile/profile.h"

namespace twinmmu::conformance {

// What can be declared of a machine with this profile.
Traits TraitsOf(const Profile& profile);

// A machine with this profile, under this name in the table.
TargetFactory SimTarget(const std::string& name = "sim",
                        const Profile& profile = Profile::ReferenceH200(2));

// What a driver that a SimTarget opened has noticed, and what is left there.
std::vector<Diagnostic> DiagnosticsOf(Driver& driver);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_INSTANCES_SIM_TARGET_H_
