// Reservation, Allocation, Mapping: move-only owners of what a Vmm returns. Each gives back what it
// holds once, when it is closed or destroyed.
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
// Closing. Close() returns the error that a destructor cannot. After a success, and on an object
// that holds nothing (default-constructed or moved from), it is OK and does nothing. If the driver
// refuses, the object stays open, and Close() can be called again. Destructors and move assignments
// close too; their errors go to the hook of api/allocators/destructor_errors.h, and what could not
// be given back is lost.
//
// Order. Any order works. A Reservation destroyed before its mappings is freed when the last of
// them is closed. The memory of an allocation lives as long as a mapping of it (api/vmm.h).
//
// Devices. Nothing here waits for device work. Work that still uses memory when its mapping is
// closed or moved faults: wait for the work first.
//
// Errors. A call that the driver refuses returns the driver's status; api/vmm.h says what may be
// passed. In addition, each call here returns: FailedPrecondition: an object that it needs holds
// nothing. InvalidArgument without a driver code: a null vmm, objects of two Vmms, a range outside
// the reservation (the reference driver would reach into the neighbour's). An error changes
// nothing, unless the call says otherwise.
//
// Thread safety. One object belongs to one thread at a time. Two things may still happen
// concurrently: several threads may use objects that share a reservation, and several threads may
// use a Reservation, but not move or destroy it. Driver calls on the addresses of one reservation
// are made one at a time, because the driver is not safe otherwise. [THREAD-5]
//
// The Vmm is not owned and must outlive all of these objects.

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
  // Like Vmm::AddressReserve.
  static absl::StatusOr<Reservation> Make(Vmm* vmm, Bytes size, const ReserveOptions& options = {});

  // Holds nothing.
  Reservation() = default;
  Reservation(Reservation&& other) noexcept = default;
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation();

  bool is_open() const;
  // Empty if nothing is held.
  AddressRange range() const;

  // Like Vmm::SetAccess on `size` bytes from `offset`, which may hold several mappings, in one
  // call. The reference driver stops silently at a hole [ACC-6], and applies the grants before one
  // that is NOT_SUPPORTED [ACC-16].
  absl::Status SetAccess(Bytes offset, Bytes size, absl::Span<const AccessGrant> grants) const;

  // Like Vmm::AddressFree. FailedPrecondition: it has mappings; the driver is not called.
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
  // Like Vmm::Create.
  static absl::StatusOr<Allocation> Make(Vmm* vmm, Bytes size,
                                         const AllocationProperties& properties);
  // Like Vmm::ImportShareableHandle. size: that of the allocation, which must come from the
  // exporter, because the driver does not report it; a wrong one is refused when it is mapped.
  static absl::StatusOr<Allocation> Import(Vmm* vmm, const ShareableHandle& shareable, Bytes size);
  // Takes over the caller's reference to an allocation of this size; the caller must not release
  // it. With a null vmm, the result holds nothing, and the caller keeps the reference.
  static Allocation Adopt(Vmm* vmm, AllocationHandle handle, Bytes size);

  // Holds nothing.
  Allocation() = default;
  Allocation(Allocation&& other) noexcept;
  Allocation& operator=(Allocation&& other) noexcept;
  ~Allocation();

  bool is_open() const { return vmm_ != nullptr; }
  // 0 if nothing is held.
  AllocationHandle handle() const { return handle_; }
  Bytes size() const { return size_; }

  // Like Vmm::Release: at once, even if the memory is mapped; the mappings keep working.
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
  // Maps the whole allocation at `offset` from the base of the reservation, and grants access: like
  // Vmm::Map, then Vmm::SetAccess if there are grants. If the grants are refused, it is unmapped
  // again. Both objects must be of one Vmm, and neither needs to outlive the mapping.
  static absl::StatusOr<Mapping> Make(const Reservation& reservation, Bytes offset,
                                      const Allocation& allocation,
                                      absl::Span<const AccessGrant> grants = {});

  // Holds nothing.
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  bool is_open() const { return state_ != nullptr; }
  // Empty if nothing is mapped.
  AddressRange range() const { return range_; }

  // Like Vmm::SetAccess on the range.
  absl::Status SetAccess(absl::Span<const AccessGrant> grants);

  // One more reference to the memory: like Vmm::RetainAllocationHandle.
  absl::StatusOr<Allocation> Retain() const;

  // Remaps without a copy: maps the same memory at `offset` of `reservation`, which may be its
  // present one or another one of the same Vmm, grants access, and then unmaps the old place. For a
  // moment the memory is mapped twice, so the new place must not overlap the old one. The access of
  // the old place is not carried over. If a step fails, even the last one, the new place is
  // unmapped again, and the old one is unchanged. If a destroyed reservation loses its last mapping
  // this way, an error of its AddressFree goes to the hook. Not for GPUDirect RDMA: on the
  // reference driver such memory depends on its first mapping. [MAP-23]
  absl::Status MoveTo(const Reservation& reservation, Bytes offset,
                      absl::Span<const AccessGrant> grants = {});

  // Like Vmm::Unmap. For the last mapping of a destroyed reservation, also like Vmm::AddressFree:
  // if that is refused, nothing is mapped any more, but the object stays open.
  absl::Status Close();

 private:
  Mapping(std::shared_ptr<Reservation::State> state, const AddressRange& range);
  absl::Status Unmap();

  std::shared_ptr<Reservation::State> state_;
  AddressRange range_;  // empty: unmapped, but the addresses are not freed yet
};

}  // namespace twinmmu

#endif  // TWINMMU_API_ALLOCATORS_OWNERS_H_
