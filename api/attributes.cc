#include "api/attributes.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace twinmmu {
namespace {

template <typename Attribute>
struct Name {
  Attribute attribute;
  const char* name;
};

constexpr Name<DeviceAttribute> kDeviceNames[] = {
    {DeviceAttribute::kUnifiedAddressing, "UNIFIED_ADDRESSING"},
    {DeviceAttribute::kComputeCapabilityMajor, "COMPUTE_CAPABILITY_MAJOR"},
    {DeviceAttribute::kComputeCapabilityMinor, "COMPUTE_CAPABILITY_MINOR"},
    {DeviceAttribute::kVirtualMemoryManagementSupported, "VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED"},
    {DeviceAttribute::kHandleTypePosixFileDescriptorSupported,
     "HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED"},
    {DeviceAttribute::kHandleTypeWin32Supported, "HANDLE_TYPE_WIN32_HANDLE_SUPPORTED"},
    {DeviceAttribute::kHandleTypeWin32KmtSupported, "HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED"},
    {DeviceAttribute::kGenericCompressionSupported, "GENERIC_COMPRESSION_SUPPORTED"},
    {DeviceAttribute::kSparseCudaArraySupported, "SPARSE_CUDA_ARRAY_SUPPORTED"},
    {DeviceAttribute::kGpuDirectRdmaWithCudaVmmSupported,
     "GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED"},
    {DeviceAttribute::kDmaBufSupported, "DMA_BUF_SUPPORTED"},
    {DeviceAttribute::kHandleTypeFabricSupported, "HANDLE_TYPE_FABRIC_SUPPORTED"},
    {DeviceAttribute::kMulticastSupported, "MULTICAST_SUPPORTED"},
    {DeviceAttribute::kHostNumaId, "HOST_NUMA_ID"},
    {DeviceAttribute::kHostNumaVirtualMemoryManagementSupported,
     "HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED"},
    {DeviceAttribute::kHostNumaMultinodeIpcSupported, "HOST_NUMA_MULTINODE_IPC_SUPPORTED"},
    {DeviceAttribute::kHostVirtualMemoryManagementSupported,
     "HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED"},
};

constexpr Name<PointerAttribute> kPointerNames[] = {
    {PointerAttribute::kContext, "CONTEXT"},
    {PointerAttribute::kMemoryType, "MEMORY_TYPE"},
    {PointerAttribute::kDevicePointer, "DEVICE_POINTER"},
    {PointerAttribute::kHostPointer, "HOST_POINTER"},
    {PointerAttribute::kSyncMemops, "SYNC_MEMOPS"},
    {PointerAttribute::kBufferId, "BUFFER_ID"},
    {PointerAttribute::kIsManaged, "IS_MANAGED"},
    {PointerAttribute::kDeviceOrdinal, "DEVICE_ORDINAL"},
    {PointerAttribute::kIsLegacyCudaIpcCapable, "IS_LEGACY_CUDA_IPC_CAPABLE"},
    {PointerAttribute::kRangeStartAddress, "RANGE_START_ADDR"},
    {PointerAttribute::kRangeSize, "RANGE_SIZE"},
    {PointerAttribute::kMapped, "MAPPED"},
    {PointerAttribute::kAllowedHandleTypes, "ALLOWED_HANDLE_TYPES"},
    {PointerAttribute::kIsGpuDirectRdmaCapable, "IS_GPU_DIRECT_RDMA_CAPABLE"},
    {PointerAttribute::kAccessFlags, "ACCESS_FLAGS"},
    {PointerAttribute::kMempoolHandle, "MEMPOOL_HANDLE"},
    {PointerAttribute::kMappingSize, "MAPPING_SIZE"},
    {PointerAttribute::kMappingBaseAddress, "MAPPING_BASE_ADDR"},
    {PointerAttribute::kMemoryBlockId, "MEMORY_BLOCK_ID"},
};

template <typename Attribute, size_t n>
const char* FindName(const Name<Attribute> (&names)[n], Attribute attribute) {
  for (const Name<Attribute>& entry : names) {
    if (entry.attribute == attribute) return entry.name;
  }
  return nullptr;
}

template <typename Attribute, size_t n>
std::string NameOrNumber(const Name<Attribute> (&names)[n], Attribute attribute) {
  const char* name = FindName(names, attribute);
  return name != nullptr ? name : absl::StrCat("attribute ", static_cast<int>(attribute));
}

template <typename Attribute, size_t n>
struct Attributes {
  Attribute values[n];
  explicit Attributes(const Name<Attribute> (&names)[n]) {
    for (size_t i = 0; i < n; ++i) values[i] = names[i].attribute;
  }
};

}  // namespace

absl::Span<const DeviceAttribute> AllDeviceAttributes() {
  static const Attributes all(kDeviceNames);
  return all.values;
}

absl::Span<const PointerAttribute> AllPointerAttributes() {
  static const Attributes all(kPointerNames);
  return all.values;
}

std::string ToString(DeviceAttribute attribute) { return NameOrNumber(kDeviceNames, attribute); }

std::string ToString(PointerAttribute attribute) { return NameOrNumber(kPointerNames, attribute); }

std::ostream& operator<<(std::ostream& out, DeviceAttribute attribute) {
  return out << ToString(attribute);
}

std::ostream& operator<<(std::ostream& out, PointerAttribute attribute) {
  return out << ToString(attribute);
}

}  // namespace twinmmu
