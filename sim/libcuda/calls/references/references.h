// What the calls for texture and surface references have in common.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_REFERENCES_REFERENCES_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_REFERENCES_REFERENCES_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "api/sparse_arrays.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "third_party/cuda_abi/texture_abi.h"

namespace twinmmu::libcuda {

// Enter with body(driver, record), for calls that name a reference. They need no context.
template <typename Body>
CUresult EnterReference(const CallSite& site, const void* reference, bool surface,
                        const Body& body) {
  return Enter(site, [&](DriverState& driver) {
    const std::optional<ReferenceRecord> found = driver.arrays.references.Find(ToNumber(reference));
    if (!found.has_value() || found->surface != surface) return DriverCode::kInvalidHandle;
    const CUresult fault = FaultOf(site, driver);
    return fault == CUDA_SUCCESS ? body(driver, *found) : static_cast<DriverCode>(fault);
  });
}

// Its number.
uint64_t AddReference(DriverState& driver, const ReferenceRecord& record);
// It is so from now on, also for launches.
DriverCode Keep(const CallSite& site, DriverState& driver, uint64_t reference,
                const ReferenceRecord& record);
// It stands for nothing from now on, also for launches.
void Unbind(DriverState& driver, const ReferenceRecord& record);

// What a call answers where there is no such array: `usual`, but for a host that has no memory.
DriverCode WhyNoArray(const absl::Status& status, DriverCode usual);
// Of an array that a reference is to show.
absl::StatusOr<ArrayDescriptor> DescriptorOf(DriverState& driver, const ReferenceRecord& record,
                                             CUarray array);
// Of the first level of a mipmapped array.
absl::StatusOr<ArrayDescriptor> DescriptorOf(DriverState& driver, const ReferenceRecord& record,
                                             CUmipmappedArray mipmap);

// Those of a module, and all of a context, which end.
void ForgetReferences(DriverState& driver, uint64_t module);
void ForgetReferences(DriverState& driver, const Context& context);

CUresult GetArray(const CallSite& site, const void* reference, bool surface, CUarray* array);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_REFERENCES_REFERENCES_H_
