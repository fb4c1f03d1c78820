// Which arrays a device has.

#ifndef TWINMMU_SIM_CALLS_ARRAYS_ARRAY_LIMITS_H_
#define TWINMMU_SIM_CALLS_ARRAYS_ARRAY_LIMITS_H_

#include "absl/status/status.h"
#include "api/sparse_arrays.h"
#include "sim/profile/profile.h"

namespace twinmmu {

// InvalidArgument (INVALID_VALUE): cubes have as many rows as columns, and 6 faces, or layers of 6;
// gathers are of two dimensions.
absl::Status CheckArrayShape(const char* call, const ArrayDescriptor& descriptor);

// Whether the attributes of a device allow that many elements.
bool IsWithinLimits(const DeviceProfile& device, const ArrayDescriptor& descriptor, bool mipmapped);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_ARRAYS_ARRAY_LIMITS_H_
