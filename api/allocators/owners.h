// Reservation, Allocation, Mapping: move-only owners of what a Vmm hands out. Each gives back what
// it holds when it is closed or destroyed, once, and only if it still holds it.
//
//   absl::Status UseMemory(Vmm* vmm, DeviceOrdinal device) {
//     const AccessGrant access{Location::Device(device), Access::kReadWrite};
//     absl::StatusOr<Reservation> addresses = Reservation::Make(vmm, MiB(64));
//     if (!addresses.ok()) return addresses.status();
//     AllocationProperties properties;
//     properties.location = access.location;
//     absl::StatusOr<Allocation> memory = Allocation::Make(vmm, MiB(2), properties);
//     if (!memory.ok()) return memory.status();
//     absl::StatusOr<Mapping> mapping = Mapping::Make(*addresses, Bytes(0), *memory, {access});
//     if (!mapping.ok()) return mapping.status();
//     ...                           // use mapping->range()
//     return mapping->Close();      // or leave it to the destructors, in any order
//   }
//
// Closing. Close() returns what a destructor must swallow. Once it succeeded, and on an object that
// holds nothing (default-constructed or moved from), it is OK and does nothing. Where the driver
// refuses, the object stays open, and Close() can be called again. A destructor and a move
// assignment close as well; their errors go to the hook of api/allocators/destructor_errors.h, and
// what could not be given back is lost.
//
// Order. None is wrong. A Reservation destroyed before its mappings is freed when the last of them
// is closed. The memory of an allocation lives as long as a mapping of it (api/vmm.h).
//
// Devices. Nothing here waits for work of a device. Work that still uses memory when its mapping is
// closed or moved faults: wait for the work first.
//
// Errors. A call that the driver refused gives the driver's status; the calls of api/vmm.h say what
// may be passed. Besides those, each call here gives: FailedPrecondition: an object
// that it needs holds nothing. InvalidArgument without a driver's code: a null vmm, objects of two
// Vmms, a range that is not inside the reservation (the reference driver would reach into the
// neighbour's). An error leaves everything as it was, unless the call says otherwise.
//
// Thread safety. One object belongs to one thread at a time. Two things may happen at once all the
// same: objects that share a reservation may be used by several threads, and a Reservation may be
// used, but not moved or destroyed, by several. Driver calls on one reservation's addresses are
// made one at a time, since the driver is not safe otherwise. [THREAD-5]
//
// The Vmm is not owned and must outlive all of them.

#ifndef TWINMMU_API_ALLOCATORS_OWNERS_H_
#define TWINMMU_API_ALLOCATORS_OWNERS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/vmm.h"

namespace twinmmu {

// A span of addresses.
class Reservation {
 public:
  // As Vmm::AddressReserve.
  static absl::StatusOr<Reservation> Make(Vmm* vmm, Bytes size, const ReserveOptions& options = {});

  // Holds nothing.
  Reservation() = default;
  Reservation(Reservation&& other) noexcept = default;
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation();

  bool is_open() const;
  // Empty where nothing is held.
  AddressRange range() const;

  // As Vmm::SetAccess on `size` bytes from `offset` on, which may hold several mappings, in one
  // call. The reference driver stops at a hole and says nothing [ACC-6], and applies what precedes
  // a grant that is NOT_SUPPORTED [ACC-16].
  absl::Status SetAccess(Bytes offset, Bytes size, absl::Span<const AccessGrant> grants) const;

  // As Vmm::AddressFree. FailedPrecondition: it has mappings; the driver is not asked.
  absl::Status Close();

 private:
  friend class Mapping;
  struct State;

  explicit Reservation(std::shared_ptr<State> state);
  // What a destructor does.
  void Drop();

  std::shared_ptr<State> state_;  // shared with the mappings
};

// One reference to physical memory.
class Allocation {
 public:
  // As Vmm::Create.
  static absl::StatusOr<Allocation> Make(Vmm* vmm, Bytes size,
                                         const AllocationProperties& properties);
  // As Vmm::ImportShareableHandle. size: that of the allocation, which the exporter must tell,
  // since the driver does not; a wrong one is refused when it is mapped.
  static absl::StatusOr<Allocation> Import(Vmm* vmm, const ShareableHandle& shareable, Bytes size);
  // Takes over a reference that the caller has to an allocation of this size, and no longer
  // releases. A null vmm: the result holds nothing, and the reference stays the caller's.
  static Allocation Adopt(Vmm* vmm, AllocationHandle handle, Bytes size);

  // Holds nothing.
  Allocation() = default;
  Allocation(Allocation&& other) noexcept;
  Allocation& operator=(Allocation&& other) noexcept;
  ~Allocation();

  bool is_open() const { return vmm_ != nullptr; }
  // 0 where nothing is held.
  AllocationHandle handle() const { return handle_; }
  Bytes size() const { return size_; }

  // As Vmm::Release: at once, also if the memory is mapped; the mappings go on working.
  absl::Status Close();

 private:
  friend class Mapping;

  Allocation(Vmm* vmm, AllocationHandle handle, Bytes size);

  Vmm* vmm_ = nullptr;
  AllocationHandle handle_;
  Bytes size_;
};

// An allocation made visible in a reservation.
class Mapping {
 public:
  // Maps the whole allocation at `offset` from the base of the reservation, and grants: as
  // Vmm::Map, then Vmm::SetAccess if there are grants. If the grants are refused, it is unmapped
  // again. Both must be of one Vmm, and neither need live as long as the mapping.
  static absl::StatusOr<Mapping> Make(const Reservation& reservation, Bytes offset,
                                      const Allocation& allocation,
                                      absl::Span<const AccessGrant> grants = {});

  // Holds nothing.
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  bool is_open() const { return state_ != nullptr; }
  // Empty where nothing is mapped.
  AddressRange range() const { return range_; }

  // As Vmm::SetAccess on the range.
  absl::Status SetAccess(absl::Span<const AccessGrant> grants);

  // One more reference to the memory: as Vmm::RetainAllocationHandle.
  absl::StatusOr<Allocation> Retain() const;

  // Remapping without a copy: maps the same memory at `offset` of `reservation`, which may be that
  // where it is or another one of the same Vmm, grants, and then unmaps the old place. For a moment
  // the memory is mapped twice, so the new place must not overlap the old one. Access at the
  // old place does not come along. Where a step fails, the last one included, the new place is
  // unmapped again, and the old one is as it was. If a destroyed reservation loses its last mapping
  // by this, the error of its AddressFree goes to the hook. Not for GPUDirect RDMA: on the
  // reference driver such memory depends on its first mapping. [MAP-23]
  absl::Status MoveTo(const Reservation& reservation, Bytes offset,
                      absl::Span<const AccessGrant> grants = {});

  // As Vmm::Unmap. After the last mapping of a destroyed reservation also as Vmm::AddressFree: if
  // that is refused, nothing is mapped any more, but the object stays open.
  absl::Status Close();

 private:
  Mapping(std::shared_ptr<Reservation::State> state, const AddressRange& range);
  absl::Status Unmap();

  std::shared_ptr<Reservation::State> state_;
  AddressRange range_;  // empty: unmapped, and the addresses are still to be freed
};

}  // namespace twinmmu

#endif  // TWINMMU_API_ALLOCATORS_OWNERS_H_
