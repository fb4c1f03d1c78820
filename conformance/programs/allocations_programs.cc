// cuMemCreate, cuMemRelease and sharing.

#include "conformance/programs/deviation_program.h"

namespace twinmmu::conformance {

DEVIATION_PROGRAM(kUnknownHandleTypesAreIgnored, "CUDA_ERROR_INVALID_VALUE", "CUDA_SUCCESS") {
  AllocationProperties properties;
  properties.requested_handle_types = static_cast<HandleType>(16);
  return CodeOf(vmm.Create(granule, properties));
}

DEVIATION_PROGRAM(kUnknownUsageIsIgnored, "CUDA_ERROR_INVALID_VALUE", "CUDA_SUCCESS") {
  AllocationProperties properties;
  properties.usage = 4;
  return CodeOf(vmm.Create(granule, properties));
}

DEVIATION_PROGRAM(kReleasedHandleWorksWhileMapped, "CUDA_ERROR_INVALID_VALUE", "CUDA_SUCCESS") {
  const AddressRange range = vmm.AddressReserve(2 * granule).value();
  const AllocationHandle handle = vmm.Create(granule, AllocationProperties()).value();
  Must(vmm.Map(range.subrange(Bytes(0), granule), handle));
  Must(vmm.Release(handle));
  return CodeOf(vmm.Map(range.subrange(granule, granule), handle));
}

DEVIATION_PROGRAM(kImportOfAForeignDescriptorIsUnknown, "CUDA_ERROR_INVALID_VALUE",
                  "CUDA_ERROR_UNKNOWN") {
  const int no_descriptor = -1;
  return CodeOf(vmm.ImportShareableHandle(ShareableHandle::FileDescriptor(no_descriptor)));
}

}  // namespace twinmmu::conformance
