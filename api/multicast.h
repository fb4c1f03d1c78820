// Multicast: one address for the memory of several devices, as NVLink SHARP offers it.
//
// A multicast object is a team of devices and a span of offsets. Each device of the team binds its
// own memory to the span. A mapping of the object shows all of them at one address: a multimem
// store writes to each, a multimem load reduces over them. The steps:
//   Create                  the team's size and the span, once
//   AddDevice               each device of the team, in any order; for good
//   BindMemory/BindAddress  per device; only when the team is complete
//   Vmm::Map, SetAccess     of the object's handle; only when the team is complete
// An AllocationHandle names the object in Vmm's calls: Map, Release, ExportShareableHandle,
// ImportShareableHandle, RetainAllocationHandle. Map takes the whole object or its first part, a
// multiple of the minimum granularity. [MC-28] For the documentation only kernels may use such a
// mapping, and only with multimem.* instructions. Programs also store plainly to it, and copy to
// it: a simulator then writes the memory of every device. [MM-8, MC-23]
//
// Processes share an object as they share memory. Each adds its devices and binds its own memory,
// and its kernels reach what the others have bound. [MC-25, MC-26] A simulator returns Internal
// (OPERATING_SYSTEM) if it cannot see what the others did.
//
// Errors, and state after an error: as in api/vmm.h. Thread safety: as in api/vmm.h, with one
// exception: the driver blocks in BindMemory, BindAddress and Map until the team is complete.
// A simulator waits for other processes, but not forever: FailedPrecondition (ILLEGAL_STATE). A
// driver also returns that if the machine's links are not in a usable state, and Unavailable
// (SYSTEM_NOT_READY) if the services they need are not running.
//
// GetAllocationProperties of an object is InvalidArgument.
//
// On real hardware, misuse of these calls can put a link out of service for everybody, so the
// backend makes them only if its options say so: otherwise Driver::multicast() is Unimplemented.
// Nothing here was compared with a driver: what its documentation does not say is our choice, and
// docs/reference/contract.md says where.

#ifndef TWINMMU_API_MULTICAST_H_
#define TWINMMU_API_MULTICAST_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/address.h"
#include "api/allocation.h"

namespace twinmmu {

// The properties of a multicast object: CUmulticastObjectProp.
struct MulticastProperties {
  uint32_t device_count = 0;                    // of the team
  Bytes size;                                   // how much memory each device can bind
  HandleType handle_types = HandleType::kNone;  // a set of bits, as for allocations
  uint64_t flags = 0;                           // must be 0

  friend constexpr bool operator==(const MulticastProperties& a, const MulticastProperties& b) {
    return a.device_count == b.device_count && a.size == b.size &&
           a.handle_types == b.handle_types && a.flags == b.flags;
  }
};

class Multicast {
 public:
  virtual ~Multicast() = default;

  // The granule of offsets and sizes of such an object and its mappings; with kRecommended, the one
  // that performs best. [MC-1, MC-2]
  // InvalidArgument: an option that does not exist, properties that Create refuses (except for
  // their size). Unimplemented: no device supports it.
  virtual absl::StatusOr<Bytes> GetGranularity(const MulticastProperties& properties,
                                               Granularity option) = 0;

  // Creates an object with an empty team and one reference, which Vmm::Release returns. It lives as
  // long as there are references or mappings; what is still bound to it at its end is unbound.
  // [MC-3 to MC-6] InvalidArgument: size 0 or not a multiple of the minimum granularity, no devices
  // or more than there are, flags not 0. Unimplemented: no device supports it. PermissionDenied:
  // the handle type exists, but not for this user.
  virtual absl::StatusOr<AllocationHandle> Create(const MulticastProperties& properties) = 0;

  // Adds `device` to the team, for as long as the object lives. [MC-7, MC-8, MC-9]
  // InvalidArgument: not a multicast object, the team is complete, the device is already in it.
  // NotFound (INVALID_DEVICE): no such device. Unimplemented: the device does not support it.
  virtual absl::Status AddDevice(AllocationHandle object, DeviceOrdinal device) = 0;

  // Binds `size` bytes of `memory`, starting at `memory_offset`, at `offset` of the object. The
  // memory decides which device it is for. Offsets and size: multiples of the minimum granularity.
  // The memory lives while it is bound. Only memory with handle types can be bound to an object
  // with handle types, which includes imported objects. flags: must be 0. [MC-10, MC-12 to MC-16,
  // MC-18, MC-24]
  // InvalidArgument: beyond the object or the memory, misaligned, host memory or memory of a device
  // that is not in the team, memory that cannot be shared, memory of that device is already bound
  // there, flags not 0. FailedPrecondition: the team is not complete. ResourceExhausted: the links
  // have no room left for it.
  virtual absl::Status BindMemory(AllocationHandle object, Bytes offset, AllocationHandle memory,
                                  Bytes memory_offset, Bytes size, uint64_t flags) = 0;
  absl::Status BindMemory(AllocationHandle object, Bytes offset, AllocationHandle memory,
                          Bytes memory_offset, Bytes size) {
    return BindMemory(object, offset, memory, memory_offset, size, 0);
  }

  // The same with the memory mapped at `range`, which must lie in one mapping of memory from
  // Vmm::Create, and begin at a multiple of the minimum granularity. The binding does not need the
  // mapping afterwards. [MC-19, MC-20, MC-24]
  virtual absl::Status BindAddress(AllocationHandle object, Bytes offset, const AddressRange& range,
                                   uint64_t flags) = 0;
  absl::Status BindAddress(AllocationHandle object, Bytes offset, const AddressRange& range) {
    return BindAddress(object, offset, range, 0);
  }

  // The same for a named device. It must be in the team, and the memory its own, or host memory of
  // the node nearest to it (its attribute HOST_NUMA_ID). It is the device that unbinds it. [MC-27]
  // InvalidArgument: also if `device` is not in the team, or the memory is of another place.
  // NotFound (INVALID_DEVICE): no such device. Unimplemented: the driver is older than CUDA 13.1.
  virtual absl::Status BindMemoryForDevice(AllocationHandle object, DeviceOrdinal device,
                                           Bytes offset, AllocationHandle memory,
                                           Bytes memory_offset, Bytes size, uint64_t flags) = 0;
  virtual absl::Status BindAddressForDevice(AllocationHandle object, DeviceOrdinal device,
                                            Bytes offset, const AddressRange& range,
                                            uint64_t flags) = 0;

  // Unbinds what `device` bound: offset and size must be those of one bind; a driver may do
  // anything with others. [MC-17]
  // InvalidArgument: they are not, or the device is not in the team. NotFound (INVALID_DEVICE): no
  // such device.
  virtual absl::Status Unbind(AllocationHandle object, DeviceOrdinal device, Bytes offset,
                              Bytes size) = 0;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_MULTICAST_H_
