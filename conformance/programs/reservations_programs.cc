// cuMemGetAllocationGranularity and cuMemAddressReserve.

#include "conformance/programs/deviation_program.h"

namespace twinmmu::conformance {

DEVIATION_PROGRAM(kGranularityOfAnyLocation, "CUDA_ERROR_INVALID_VALUE", "CUDA_SUCCESS") {
  AllocationProperties properties;
  properties.location.type = static_cast<LocationType>(99);
  return CodeOf(vmm.GetAllocationGranularity(properties, Granularity::kMinimum));
}

DEVIATION_PROGRAM(kReserveTakesOnlyGranules, "CUDA_SUCCESS", "CUDA_ERROR_INVALID_VALUE") {
  return CodeOf(vmm.AddressReserve(KiB(4)));
}

DEVIATION_PROGRAM(kMisalignedHintIsRefused, "CUDA_SUCCESS", "CUDA_ERROR_INVALID_VALUE") {
  const AddressRange range = vmm.AddressReserve(granule).value();
  ReserveOptions options;
  options.hint = range.base + granule / 2;
  return CodeOf(vmm.AddressReserve(granule, options));
}

DEVIATION_PROGRAM(kHintBeyondTheAddressSpaceIsOutOfMemory, "CUDA_SUCCESS",
                  "CUDA_ERROR_OUT_OF_MEMORY") {
  ReserveOptions options;
  options.hint = DeviceAddress(uint64_t{1} << 48);
  return CodeOf(vmm.AddressReserve(granule, options));
}

}  // namespace twinmmu::conformance
