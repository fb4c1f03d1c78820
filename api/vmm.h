// Vmm: the CUDA driver's virtual memory management, behind one interface.
//
// Three nouns, with lifetimes that do not depend on each other:
//   reservation  a span of device addresses. Holds no memory.      AddressReserve .. AddressFree
//   allocation   physical memory. Has no address.                  Create .. last reference
//   mapping      makes an allocation visible in a reservation.     Map .. Unmap
// And access: nobody may use a new mapping, not even its owner, until SetAccess grants a location
// read or read-write access. Access belongs to the mapping and ends with it.
//
// An allocation lives as long as anything refers to it: a handle (Create, RetainAllocationHandle
// and ImportShareableHandle each give one reference, Release returns one), a mapping, or an open
// exported descriptor. So releasing a handle right after Map is legal and common.
//
// Which calls accept a range in which state ("no": the call fails and changes nothing):
//                     never reserved   reserved   mapped   mapped, access granted
//   Map               no               yes        no       no
//   SetAccess         no               no         yes      yes
//   Unmap             no               no         yes      yes, access is lost
//   AddressFree       no               yes        no       no
//   copies, kernels   no               no         no       yes
// api/deviations.inc lists where the reference driver departs from this table.
//
// Errors. A call that fails returns a status with the canonical code below and a DriverError as
// payload (api/driver_error.h): the driver's code, the call, who raised it. Unless a call says
// otherwise, an error changes nothing. Besides the errors listed at each call, every call can
// return: FailedPrecondition (no driver, or it could not be initialised), Unimplemented (the driver
// lacks this call), DataLoss and others after a sticky error.
//
// Undefined calls. What a driver does with a handle that is dead or was never issued is undefined:
// it may crash the process. Implementations that can detect such handles return InvalidArgument.
//
// Contexts. No call needs the caller to have a context, or changes which one is current. Where the
// driver requires one (GetMemoryInfo, GetPointerAttribute, GetAddressRange), the implementation
// uses the primary context of the device that the call names.
//
// Thread safety: every call of every implementation may run concurrently with every other. Two
// concurrent calls that change the same range take effect in some order on the simulator; the
// reference driver may let both succeed, or crash: use a lock. [THREAD-1 .. THREAD-5] In a child
// made by fork, every call except GetDriverVersion is FailedPrecondition (NOT_INITIALIZED).
// [FORK-1]
//
// Names in brackets are rules of the conformance suite; conformance/rules/rules.inc gives the
// source of each. `twinmmu conformance` shows which of them an implementation keeps.

#ifndef TWINMMU_API_VMM_H_
#define TWINMMU_API_VMM_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/attributes.h"

namespace twinmmu {

// Where AddressReserve places a reservation. Bytes(0) and DeviceAddress(0) leave the choice to the
// implementation.
struct ReserveOptions {
  Bytes alignment;     // a power of two; the granularity is the least that is used
  DeviceAddress hint;  // a multiple of the alignment; if taken, another place is chosen
  uint64_t flags = 0;  // must be 0
};

// Memory of one device. `free` also changes when other processes use the device.
struct MemoryInfo {
  Bytes free;
  Bytes total;

  friend std::ostream& operator<<(std::ostream& out, const MemoryInfo& info) {
    return out << info.free << " free of " << info.total;
  }
};

class Vmm {
 public:
  virtual ~Vmm() = default;

  // --- Devices ---------------------------------------------------------------------------------

  // The driver's version in the driver's notation: 13000 is CUDA 13.0. [DEV-1]
  virtual absl::StatusOr<int> GetDriverVersion() = 0;

  // The number of devices; 0 is a valid answer. [DEV-1]
  virtual absl::StatusOr<int> GetDeviceCount() = 0;

  // NotFound (INVALID_DEVICE): there is no such device. [DEV-2]
  virtual absl::StatusOr<std::string> GetDeviceName(DeviceOrdinal device) = 0;

  // One capability or property as the driver's integer; a capability is 0 or 1. [DEV-3, DEV-4,
  // DEV-6] InvalidArgument: no such attribute. NotFound (INVALID_DEVICE): no such device.
  virtual absl::StatusOr<int> GetDeviceAttribute(DeviceAttribute attribute,
                                                 DeviceOrdinal device) = 0;

  // Whether `device` can be granted access to memory of `peer`. A device is not its own peer.
  // [DEV-5] NotFound (INVALID_DEVICE): no such device.
  virtual absl::StatusOr<bool> CanAccessPeer(DeviceOrdinal device, DeviceOrdinal peer) = 0;

  // Free and total memory of a device. `free` drops at Create and rises again when the last
  // reference to an allocation is gone; reservations and mappings do not count. [INFO-1 .. INFO-4]
  // NotFound (INVALID_DEVICE): no such device.
  virtual absl::StatusOr<MemoryInfo> GetMemoryInfo(DeviceOrdinal device) = 0;

  // --- Reservations ----------------------------------------------------------------------------

  // Reserves `size` bytes of addresses: aligned, disjoint from every other reservation, unmapped.
  // size: more than 0 and a multiple of the granularity. [RES-1 .. RES-18]
  // InvalidArgument: size 0 or not a multiple, alignment not a power of two, a misaligned hint,
  // flags not 0. ResourceExhausted: no span of this size is free.
  virtual absl::StatusOr<AddressRange> AddressReserve(Bytes size,
                                                      const ReserveOptions& options) = 0;
  absl::StatusOr<AddressRange> AddressReserve(Bytes size) {
    return AddressReserve(size, ReserveOptions());
  }

  // Ends a reservation. `range` must be exactly what AddressReserve returned (base and size), with
  // no mapping left in it. [FREE-1 .. FREE-8]
  // InvalidArgument: not exactly one reservation, or something in it is still mapped.
  virtual absl::Status AddressFree(const AddressRange& range) = 0;

  // --- Physical memory -------------------------------------------------------------------------

  // The granule of allocations with these properties: their sizes, and the addresses, sizes and
  // offsets of their mappings, must be multiples of it. kRecommended is the multiple of kMinimum
  // that performs best. [GRAN-1 .. GRAN-5]
  // InvalidArgument: an option, type or location that does not exist.
  virtual absl::StatusOr<Bytes> GetAllocationGranularity(const AllocationProperties& properties,
                                                         Granularity option) = 0;

  // Creates physical memory and returns the first reference to it. Its content is undefined.
  // size: more than 0 and a multiple of the granularity. flags: must be 0. [CREATE-1 .. CREATE-28]
  // InvalidArgument: invalid size, flags, type, location, usage or handle types.
  // NotFound (INVALID_DEVICE): the location is a device that does not exist.
  // ResourceExhausted: not enough memory. PermissionDenied, Unimplemented: the requested kind of
  // memory or handle type exists, but not here or not for this user (fabric handles without IMEX).
  virtual absl::StatusOr<AllocationHandle> Create(Bytes size,
                                                  const AllocationProperties& properties,
                                                  uint64_t flags) = 0;
  absl::StatusOr<AllocationHandle> Create(Bytes size, const AllocationProperties& properties) {
    return Create(size, properties, 0);
  }

  // Returns one reference. The memory is freed when the last reference, mapping and exported
  // descriptor are gone; mappings keep working. [REL-1 .. REL-7] InvalidArgument: handle 0.
  // Undefined: a handle whose references have all been returned.
  virtual absl::Status Release(AllocationHandle handle) = 0;

  // One more reference to the allocation mapped at `address`, which may be any address inside a
  // mapping. The handle is the one passed to Map. Release returns it. [RET-1 .. RET-5]
  // InvalidArgument: nothing is mapped there.
  virtual absl::StatusOr<AllocationHandle> RetainAllocationHandle(DeviceAddress address) = 0;

  // The properties that an allocation was granted. [PROP-1, PROP-2] InvalidArgument: handle 0.
  virtual absl::StatusOr<AllocationProperties> GetAllocationProperties(AllocationHandle handle) = 0;

  // --- Mappings --------------------------------------------------------------------------------

  // Makes `range.size` bytes of the allocation, starting at `offset`, visible at `range`: reserved
  // and wholly unmapped addresses of one reservation. Base, size and offset are multiples of the
  // granularity. One allocation may be mapped many times. Nobody has access yet. Does not wait for
  // device work. flags: must be 0. [MAP-1 .. MAP-23]
  // InvalidArgument: not reserved, already mapped (even in part), beyond the end of the
  // reservation, size 0, misaligned, flags not 0, handle 0. Unimplemented (NOT_SUPPORTED): an
  // offset other than 0, more than the allocation holds; on today's drivers: any part of an
  // allocation.
  virtual absl::Status Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                           uint64_t flags) = 0;
  absl::Status Map(const AddressRange& range, AllocationHandle handle) {
    return Map(range, handle, Bytes(0), 0);
  }

  // Ends all mappings in `range`, which must consist of one or more whole mappings without a hole.
  // Access ends with them; the reservation stays. Does not wait for device work: work that still
  // uses the memory faults. [UNMAP-1 .. UNMAP-15]
  // InvalidArgument: part of a mapping, a hole, not reserved, size 0.
  virtual absl::Status Unmap(const AddressRange& range) = 0;

  // Sets the access of each named location on `range`, which must consist of mapped memory without
  // a hole. Other locations keep their access. All or nothing. [ACC-1 .. ACC-24]
  // InvalidArgument: not mapped, a hole, part of a mapping, size 0, no grants, an access, location
  // or device that does not exist. Unimplemented (NOT_SUPPORTED): the host for device memory.
  virtual absl::Status SetAccess(const AddressRange& range,
                                 absl::Span<const AccessGrant> grants) = 0;

  // The access of `location` at `address`, which may be any address inside a mapping.
  // [GETACC-1 .. GETACC-6] InvalidArgument: nothing is mapped there. NotFound (INVALID_DEVICE): a
  // location that does not exist.
  virtual absl::StatusOr<Access> GetAccess(const Location& location, DeviceAddress address) = 0;

  // --- Sharing ---------------------------------------------------------------------------------

  // Exports the allocation in a form that another process can import. `type`: one that was
  // requested at Create. A file descriptor is new at each call, close-on-exec, belongs to the
  // caller, and keeps the memory alive until it is closed. flags: must be 0. [SHARE-1 .. SHARE-4]
  // [SHARE-14, SHARE-15] InvalidArgument: a type that was not requested, flags not 0. Internal
  // (OPERATING_SYSTEM): the process cannot have more descriptors.
  virtual absl::StatusOr<ShareableHandle> ExportShareableHandle(AllocationHandle handle,
                                                                HandleType type,
                                                                uint64_t flags) = 0;
  absl::StatusOr<ShareableHandle> ExportShareableHandle(AllocationHandle handle, HandleType type) {
    return ExportShareableHandle(handle, type, 0);
  }

  // A reference to the allocation behind `shareable`, with its own handle and the exporter's
  // properties, except that it cannot be exported again and is not for GPUDirect RDMA. The
  // descriptor stays open and still belongs to the caller. [SHARE-5 .. SHARE-18]
  // Errors: not a shareable handle, or one of another type; the driver's code depends on what it
  // is.
  virtual absl::StatusOr<AllocationHandle> ImportShareableHandle(
      const ShareableHandle& shareable) = 0;

  // --- What is at an address -------------------------------------------------------------------

  // Both answer for `device`'s view of the address.

  // One attribute of an address as the driver's integer (pointers and flags included), zero
  // extended: an ordinal of -1 reads 0xffffffff.
  // [PTR-1 .. PTR-8] InvalidArgument: nothing is mapped there, `device` has no access that the
  // attribute needs, or the attribute does not exist.
  virtual absl::StatusOr<uint64_t> GetPointerAttribute(DeviceOrdinal device,
                                                       PointerAttribute attribute,
                                                       DeviceAddress address) = 0;

  // The mapping (not the reservation) that contains `address`. [RANGE-1 .. RANGE-4]
  // NotFound (NOT_FOUND): nothing is mapped there, or `device` cannot even read it.
  virtual absl::StatusOr<AddressRange> GetAddressRange(DeviceOrdinal device,
                                                       DeviceAddress address) = 0;

  // A descriptor of the memory behind `range` for drivers of other devices (dma-buf): new at each
  // call, owned by the caller, and keeps the memory alive until it is closed. Base and size are
  // multiples of the host page size, 4 KiB; the range may span mappings. [DMABUF-*]
  // InvalidArgument: misaligned, size 0, not wholly mapped, host memory or memory of several
  // devices, a type or flags that do not exist. Unimplemented: the device does not support dma-buf
  // (DeviceAttribute::kDmaBufSupported), or not with these flags.
  virtual absl::StatusOr<int> GetHandleForAddressRange(DeviceOrdinal device,
                                                       const AddressRange& range,
                                                       RangeHandleType type, uint64_t flags);
};

}  // namespace twinmmu

#endif  // TWINMMU_API_VMM_H_
