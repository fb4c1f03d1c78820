// Physical memory: where it is (Location), how to request it (AllocationProperties), what names it
// (AllocationHandle), how it is shared (ShareableHandle), who may access it (Access).
//
// Every enumeration here is open: its values are the driver's own, and any other integer, cast with
// static_cast, reaches the implementation unchanged, so that tests can pass bad input.

#ifndef TWINMMU_API_ALLOCATION_H_
#define TWINMMU_API_ALLOCATION_H_

#include <array>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>

#include "api/address.h"

namespace twinmmu {

// A device, from 0 to the device count - 1: the driver's CUdevice.
class DeviceOrdinal {
 public:
  constexpr DeviceOrdinal() = default;
  constexpr explicit DeviceOrdinal(int value) : value_(value) {}

  constexpr int value() const { return value_; }

  friend constexpr bool operator==(DeviceOrdinal a, DeviceOrdinal b) {
    return a.value_ == b.value_;
  }
  friend constexpr bool operator!=(DeviceOrdinal a, DeviceOrdinal b) { return !(a == b); }
  friend constexpr bool operator<(DeviceOrdinal a, DeviceOrdinal b) { return a.value_ < b.value_; }
  template <typename H>
  friend H AbslHashValue(H h, DeviceOrdinal d) {
    return H::combine(std::move(h), d.value_);
  }

 private:
  int value_ = 0;
};

// CUmemLocationType.
enum class LocationType : int32_t {
  kInvalid = 0,
  kDevice = 1,           // id is a device ordinal
  kHost = 2,             // id is ignored
  kHostNuma = 3,         // id is a NUMA node of the host
  kHostNumaCurrent = 4,  // the NUMA node of the calling thread; id is ignored
  kInvisible = 5,        // a device that this process does not see; id is -2 [CUDA 13.2]
  kLocalityDomain = 6,   // a part of a device: see Location::LocalityDomain [CUDA 13.4]
};

// A place that holds memory or accesses it: CUmemLocation.
struct Location {
  LocationType type = LocationType::kDevice;
  int32_t id = 0;

  static constexpr Location Device(DeviceOrdinal device) {
    return Location{LocationType::kDevice, device.value()};
  }
  static constexpr Location Host() { return Location{LocationType::kHost, 0}; }
  static constexpr Location HostNuma(int node) { return Location{LocationType::kHostNuma, node}; }
  static constexpr Location HostNumaCurrent() {
    return Location{LocationType::kHostNumaCurrent, 0};
  }

  // The memory of a device that is near to a part of its multiprocessors.
  static constexpr Location LocalityDomain(DeviceOrdinal device, int domain) {
    return Location{LocationType::kLocalityDomain, (device.value() & 0xff) | domain << 8};
  }
  // Of that: the domain, and the device that it is a part of.
  constexpr int domain() const { return id >> 8 & 0xff; }
  constexpr Location whole() const {
    return type == LocationType::kLocalityDomain ? Location{LocationType::kDevice, id & 0xff}
                                                 : *this;
  }

  friend constexpr bool operator==(const Location& a, const Location& b) {
    return a.type == b.type && a.id == b.id;
  }
  friend constexpr bool operator!=(const Location& a, const Location& b) { return !(a == b); }
  template <typename H>
  friend H AbslHashValue(H h, const Location& l) {
    return H::combine(std::move(h), static_cast<int32_t>(l.type), l.id);
  }
};

// CUmemAccess_flags. A new mapping starts with kNone for everybody, even its owner.
enum class Access : uint32_t { kNone = 0, kRead = 1, kReadWrite = 3 };

// One entry of Vmm::SetAccess: CUmemAccessDesc.
struct AccessGrant {
  Location location;
  Access access = Access::kNone;

  friend constexpr bool operator==(const AccessGrant& a, const AccessGrant& b) {
    return a.location == b.location && a.access == b.access;
  }
  friend constexpr bool operator!=(const AccessGrant& a, const AccessGrant& b) { return !(a == b); }
};

// CUmemAllocationHandleType: how memory can be shared. A set of bits in AllocationProperties, a
// single bit in export and import.
enum class HandleType : uint32_t {
  kNone = 0,
  kPosixFileDescriptor = 1,
  kWin32 = 2,
  kWin32Kmt = 4,
  kFabric = 8,
};
constexpr HandleType operator|(HandleType a, HandleType b) {
  return static_cast<HandleType>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}
constexpr HandleType operator&(HandleType a, HandleType b) {
  return static_cast<HandleType>(static_cast<uint32_t>(a) & static_cast<uint32_t>(b));
}

// CUmemAllocationType.
enum class AllocationType : uint32_t { kInvalid = 0, kPinned = 1, kManaged = 2 };

// CUmemAllocationCompType.
enum class CompressionType : uint8_t { kNone = 0, kGeneric = 1 };

// CU_MEM_CREATE_USAGE_*: bits of AllocationProperties::usage.
inline constexpr uint16_t kUsageTilePool = 1;
inline constexpr uint16_t kUsageHardwareDecompress = 2;
inline constexpr uint16_t kUsageRdmaOverPcie = 4;  // [CUDA 13.4]

// The properties of an allocation: CUmemAllocationProp. The default is pinned memory of device 0
// that cannot be shared.
struct AllocationProperties {
  AllocationType type = AllocationType::kPinned;
  HandleType requested_handle_types = HandleType::kNone;  // a set of bits
  Location location;
  CompressionType compression = CompressionType::kNone;  // a hint; read back what was granted
  uint8_t gpu_direct_rdma = 0;                           // 1: for GPUDirect RDMA; devices only
  uint16_t usage = 0;                                    // kUsage... bits

  friend constexpr bool operator==(const AllocationProperties& a, const AllocationProperties& b) {
    return a.type == b.type && a.requested_handle_types == b.requested_handle_types &&
           a.location == b.location && a.compression == b.compression &&
           a.gpu_direct_rdma == b.gpu_direct_rdma && a.usage == b.usage;
  }
  friend constexpr bool operator!=(const AllocationProperties& a, const AllocationProperties& b) {
    return !(a == b);
  }
};

// CUmemAllocationGranularity_flags.
enum class Granularity : uint32_t { kMinimum = 0, kRecommended = 1 };

// CUmemRangeHandleType: what Vmm::GetHandleForAddressRange returns.
enum class RangeHandleType : int32_t { kDmaBufFileDescriptor = 1 };
// CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE: through PCIe, even if there is another path.
inline constexpr uint64_t kRangeFlagPcie = 1;

// Names one reference to physical memory. value() is exactly the driver's
// CUmemGenericAllocationHandle. A plain value: copying it takes no reference.
class AllocationHandle {
 public:
  constexpr AllocationHandle() = default;
  constexpr explicit AllocationHandle(uint64_t value) : value_(value) {}

  constexpr uint64_t value() const { return value_; }

  friend constexpr bool operator==(AllocationHandle a, AllocationHandle b) {
    return a.value_ == b.value_;
  }
  friend constexpr bool operator!=(AllocationHandle a, AllocationHandle b) { return !(a == b); }
  friend constexpr bool operator<(AllocationHandle a, AllocationHandle b) {
    return a.value_ < b.value_;
  }
  template <typename H>
  friend H AbslHashValue(H h, AllocationHandle handle) {
    return H::combine(std::move(h), handle.value_);
  }

 private:
  uint64_t value_ = 0;
};

// A physical allocation as its owner keeps it.
struct PhysicalAllocation {
  AllocationHandle handle;
  Bytes size;
  Location location;

  friend constexpr bool operator==(const PhysicalAllocation& a, const PhysicalAllocation& b) {
    return a.handle == b.handle && a.size == b.size && a.location == b.location;
  }
  template <typename H>
  friend H AbslHashValue(H h, const PhysicalAllocation& a) {
    return H::combine(std::move(h), a.handle, a.size, a.location);
  }
};

// One mapping of a reservation, as its owner keeps it: `size` bytes of `allocation` are visible at
// `offset` from the base of the reservation, with `access` granted.
struct MappingInfo {
  Bytes offset;
  Bytes size;
  AllocationHandle allocation;
  Access access = Access::kNone;

  friend constexpr bool operator==(const MappingInfo& a, const MappingInfo& b) {
    return a.offset == b.offset && a.size == b.size && a.allocation == b.allocation &&
           a.access == b.access;
  }
  template <typename H>
  friend H AbslHashValue(H h, const MappingInfo& m) {
    return H::combine(std::move(h), m.offset, m.size, m.allocation, m.access);
  }
};

// Physical memory in a form that can leave the process. A plain value that owns nothing: whoever
// exported or received a file descriptor must close it.
struct ShareableHandle {
  HandleType type = HandleType::kNone;
  int file_descriptor = -1;             // for kPosixFileDescriptor
  std::array<uint8_t, 64> fabric = {};  // for kFabric: CUmemFabricHandle

  static ShareableHandle FileDescriptor(int fd) {
    return ShareableHandle{HandleType::kPosixFileDescriptor, fd, {}};
  }
};

std::string ToString(DeviceOrdinal device);      // "device 0"
std::string ToString(LocationType type);         // "host NUMA node"
std::string ToString(const Location& location);  // "device 0", "host", "host NUMA node 1"
std::string ToString(Access access);             // "read-write"
std::string ToString(const AccessGrant& grant);  // "read-write for device 0"
std::string ToString(HandleType types);          // "POSIX file descriptor|fabric"
std::string ToString(Granularity option);        // "minimum"
std::string ToString(AllocationHandle handle);   // "0x55d0c0ffee00"
std::string ToString(const AllocationProperties& properties);
std::string ToString(const PhysicalAllocation& allocation);
std::string ToString(const MappingInfo& mapping);
std::string ToString(const ShareableHandle& shareable);  // "POSIX file descriptor 7"

std::ostream& operator<<(std::ostream& out, DeviceOrdinal device);
std::ostream& operator<<(std::ostream& out, LocationType type);
std::ostream& operator<<(std::ostream& out, const Location& location);
std::ostream& operator<<(std::ostream& out, Access access);
std::ostream& operator<<(std::ostream& out, const AccessGrant& grant);
std::ostream& operator<<(std::ostream& out, HandleType types);
std::ostream& operator<<(std::ostream& out, Granularity option);
std::ostream& operator<<(std::ostream& out, AllocationHandle handle);
std::ostream& operator<<(std::ostream& out, const AllocationProperties& properties);
std::ostream& operator<<(std::ostream& out, const PhysicalAllocation& allocation);
std::ostream& operator<<(std::ostream& out, const MappingInfo& mapping);
std::ostream& operator<<(std::ostream& out, const ShareableHandle& shareable);

}  // namespace twinmmu

#endif  // TWINMMU_API_ALLOCATION_H_
