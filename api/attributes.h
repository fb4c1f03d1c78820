// The attributes of devices and addresses that can be queried. Open enumerations: any other value
// of the driver may be queried as well.

#ifndef TWINMMU_API_ATTRIBUTES_H_
#define TWINMMU_API_ATTRIBUTES_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/types/span.h"
#include "api/requirements.h"

namespace twinmmu {

// CUdevice_attribute: those for virtual memory.
enum class DeviceAttribute : int32_t {
  kUnifiedAddressing = 41,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kVirtualMemoryManagementSupported = 102,
  kHandleTypePosixFileDescriptorSupported = 103,
  kHandleTypeWin32Supported = 104,
  kHandleTypeWin32KmtSupported = 105,
  kGenericCompressionSupported = 107,
  kGpuDirectRdmaWithCudaVmmSupported = 110,
  kSparseCudaArraySupported = 112,
  kDmaBufSupported = 124,
  kHandleTypeFabricSupported = 128,
  kMulticastSupported = 132,
  kHostNumaId = 134,
  kHostNumaVirtualMemoryManagementSupported = 141,
  kHostNumaMultinodeIpcSupported = 143,
  kHostVirtualMemoryManagementSupported = 145,
};

// CUpointer_attribute.
enum class PointerAttribute : int32_t {
  kContext = 1,
  kMemoryType = 2,
  kDevicePointer = 3,
  kHostPointer = 4,
  kSyncMemops = 6,
  kBufferId = 7,
  kIsManaged = 8,
  kDeviceOrdinal = 9,
  kIsLegacyCudaIpcCapable = 10,
  kRangeStartAddress = 11,
  kRangeSize = 12,
  kMapped = 13,
  kAllowedHandleTypes = 14,
  kIsGpuDirectRdmaCapable = 15,
  kAccessFlags = 16,
  kMempoolHandle = 17,
  kMappingSize = 18,
  kMappingBaseAddress = 19,
  kMemoryBlockId = 20,
};

// All attributes named above, in numerical order.
absl::Span<const DeviceAttribute> AllDeviceAttributes();
absl::Span<const PointerAttribute> AllPointerAttributes();

// The driver's name without its prefix: "VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED", "RANGE_SIZE";
// "attribute 999" for a value not named above.
std::string ToString(DeviceAttribute attribute);
std::string ToString(PointerAttribute attribute);
std::ostream& operator<<(std::ostream& out, DeviceAttribute attribute);
std::ostream& operator<<(std::ostream& out, PointerAttribute attribute);

}  // namespace twinmmu

#endif  // TWINMMU_API_ATTRIBUTES_H_
