// The simulator as a target of the suite.

#ifndef TWINMMU_CONFORMANCE_INSTANCES_SIM_H_
#define TWINMMU_CONFORMANCE_INSTANCES_SIM_H_

#include "api/address.h"
#include "conformance/target.h"

namespace twinmmu::conformance {

// The reference machine with `devices` devices, which reach each other's memory. Smaller granules
// make its tests faster, as there is less to copy.
TargetFactory SimTarget(int devices = 2, Bytes granule = MiB(2));

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_INSTANCES_SIM_H_
