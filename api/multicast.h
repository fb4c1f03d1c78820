// Multicast: one address for the memory of several devices, as NVLink SHARP offers it.
//
// A multicast object is a team of devices and a span of offsets. Each device of the team binds its
// own memory to the span; whoever maps the object sees them all at one address: a multimem store
// reaches each, a multimem load reduces over them. From nothing to a byte:
//   Create                  the team's size and the span, once
//   AddDevice               each device of the team, in any order; for good
//   BindMemory/BindAddress  per device; only when the team is complete
//   Vmm::Map, SetAccess     of the object's handle; only when the team is complete
// The object is named by an AllocationHandle, and Vmm's calls take it: Map, Release,
// ExportShareableHandle, ImportShareableHandle, RetainAllocationHandle. Only kernels may use such a
// mapping, and only by the instructions multimem.*; anything else is undefined.
//
// Processes share an object as they share memory. Each adds its devices and binds memory of its
// own, and its kernels reach what the others have bound. [MC-25, MC-26] A simulator says Internal
// (OPERATING_SYSTEM) where it cannot tell what the others did.
//
// Errors, and state after an error: as in api/vmm.h. Thread safety: as in api/vmm.h, with one
// departure of the driver's: it blocks in BindMemory, BindAddress and Map until the team is
// complete. Implementations here say FailedPrecondition (ILLEGAL_STATE) instead, unless told to
// wait. A driver says that also where the links of the machine are in no state to be used, and
// Unavailable (SYSTEM_NOT_READY) where the services that they need do not run.
//
// GetAllocationProperties knows nothing of an object: InvalidArgument.
//
// On real hardware a wrong use of these calls can put a link out of service for everybody, so the
// backend makes none of them unless its options ask for it: without, Driver::multicast() is
// Unimplemented. Nothing here was compared with a driver: what is not in its documentation is our
// choice, and docs/reference/contract.md says where.

#ifndef TWINMMU_API_MULTICAST_H_
#define TWINMMU_API_MULTICAST_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/address.h"
#include "api/allocation.h"

namespace twinmmu {

// What a multicast object is to be: CUmulticastObjectProp.
struct MulticastProperties {
  uint32_t device_count = 0;                    // of the team
  Bytes size;                                   // how much memory each device can bind
  HandleType handle_types = HandleType::kNone;  // a set of bits, as of an allocation
  uint64_t flags = 0;                           // must be 0

  friend constexpr bool operator==(const MulticastProperties& a, const MulticastProperties& b) {
    return a.device_count == b.device_count && a.size == b.size &&
           a.handle_types == b.handle_types && a.flags == b.flags;
  }
};

class Multicast {
 public:
  virtual ~Multicast() = default;

  // The granule of offsets and sizes of such an object, and of its mappings; for kRecommended the
  // one that performs best. [MC-1, MC-2]
  // InvalidArgument: an option that does not exist, properties that Create refuses (size aside).
  // Unimplemented: no device can.
  virtual absl::StatusOr<Bytes> GetGranularity(const MulticastProperties& properties,
                                               Granularity option) = 0;

  // A new object with one reference, which Vmm::Release returns. Its team is empty. It lives as
  // long as there are references or mappings; what is bound to it at its end is unbound. [MC-3 to
  // MC-6] InvalidArgument: size 0 or not a multiple of the minimum granularity, no devices or more
  // than there are, flags not 0. Unimplemented: no device can. PermissionDenied: the handle type
  // exists, but not for this user.
  virtual absl::StatusOr<AllocationHandle> Create(const MulticastProperties& properties) = 0;

  // Puts `device` into the team, for as long as the object lives. [MC-7, MC-8, MC-9]
  // InvalidArgument: no multicast object, the team is complete, the device is in it already.
  // NotFound (INVALID_DEVICE): no such device. Unimplemented: the device cannot.
  virtual absl::Status AddDevice(AllocationHandle object, DeviceOrdinal device) = 0;

  // Binds `size` bytes of `memory`, from `memory_offset` on, at `offset` of the object. The memory
  // decides which device it is for. Offsets and size: multiples of the minimum granularity.
  // The memory lives while it is bound. To an object with handle types, an imported one among them,
  // only memory with handle types can be bound. flags: must be 0. [MC-10, MC-12 to MC-16, MC-18,
  // MC-24]
  // InvalidArgument: beyond the object or the memory, misaligned, memory of the host or of a device
  // that is not in the team, memory that cannot be shared, something of that device is bound there
  // already, flags not 0. FailedPrecondition: the team is not complete. ResourceExhausted: the
  // links have no room left for it.
  virtual absl::Status BindMemory(AllocationHandle object, Bytes offset, AllocationHandle memory,
                                  Bytes memory_offset, Bytes size, uint64_t flags) = 0;
  absl::Status BindMemory(AllocationHandle object, Bytes offset, AllocationHandle memory,
                          Bytes memory_offset, Bytes size) {
    return BindMemory(object, offset, memory, memory_offset, size, 0);
  }

  // The same with the memory that is mapped at `range`, which must lie in one mapping of memory of
  // Vmm::Create, and begin at a multiple of the minimum granularity. The binding does not need the
  // mapping any more. [MC-19, MC-20, MC-24]
  virtual absl::Status BindAddress(AllocationHandle object, Bytes offset, const AddressRange& range,
                                   uint64_t flags) = 0;
  absl::Status BindAddress(AllocationHandle object, Bytes offset, const AddressRange& range) {
    return BindAddress(object, offset, range, 0);
  }

  // Ends what `device` bound: offset and size must be those of one bind; a driver may do anything
  // with others. [MC-17]
  // InvalidArgument: they are not, or the device is not in the team. NotFound (INVALID_DEVICE): no
  // such device.
  virtual absl::Status Unbind(AllocationHandle object, DeviceOrdinal device, Bytes offset,
                              Bytes size) = 0;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_MULTICAST_H_
