// VirtualMemoryPool: far more addresses than memory, and memory only where it was requested.
//
//   auto pool = VirtualMemoryPool::Make(vmm, executor, GiB(128));
//   auto address = (*pool)->Allocate(GiB(3), MiB(64));       // base + 3 GiB, readable and writable
//   auto status = (*pool)->Deallocate(GiB(3), MiB(64), {stream});  // after what is in the stream
//
// The caller chooses offsets, like an allocator with its own free lists; the address of an offset
// never changes. Pages that were given up are cached and reused wherever they are needed.

#ifndef TWINMMU_API_ALLOCATORS_VIRTUAL_MEMORY_POOL_H_
#define TWINMMU_API_ALLOCATORS_VIRTUAL_MEMORY_POOL_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/allocators/last_use.h"
#include "api/allocators/memory_stats.h"
#include "api/allocators/paged_reservation.h"
#include "api/executor.h"
#include "api/record/event.h"
#include "api/vmm.h"

namespace twinmmu {

// Offsets count from BaseAddress; offsets and sizes are multiples of PageSize. Every call fails
// with FailedPrecondition after Close. An error leaves the pool as it was, including its use of
// physical memory. Driver errors keep their code as payload. Thread safety: all calls may run
// concurrently; they take effect one after another.
class VirtualMemoryPool {
 public:
  // Reserves `capacity` bytes of addresses, rounded up to pages, but no memory. `executor` is
  // needed only to deallocate after work, and may be null. Both must outlive the pool.
  // InvalidArgument: capacity 0 or beyond 64 bits, a page size that is not a power of two of at
  // least 64 KiB. ResourceExhausted: no such span of addresses. Properties that no memory can have
  // are refused here or by Allocate, as the driver does.
  static absl::StatusOr<std::unique_ptr<VirtualMemoryPool>> Make(
      Vmm* vmm, Executor* executor, Bytes capacity, const PageOptions& options = PageOptions());
  // Like Close; errors go to the hook of destructor_errors.h.
  ~VirtualMemoryPool();

  // Gives [offset, offset + size) memory, and returns its address. The content is undefined: pages
  // may come from an earlier user of this pool.
  // Driver calls: per page one Create, unless one is cached, and one Map; one SetAccess.
  // InvalidArgument: size 0, or not multiples of PageSize. OutOfRange: beyond the capacity.
  // AlreadyExists: part of it is allocated; the message names which. Unavailable: part of it was
  // deallocated after work that is not done yet; use another offset, or wait for the work. The
  // error of Unmap: part of it was given up, but the driver still refuses to unmap it.
  // ResourceExhausted: out of memory.
  absl::StatusOr<DeviceAddress> Allocate(Bytes offset, Bytes size);

  // Takes the memory of [offset, offset + size): what one Allocate gave, part of it, or several
  // adjacent ones. With `after` it goes when that work is done, in a later call on the pool;
  // otherwise at once, and the caller must know that nothing uses it.
  // Driver calls: one Unmap; per page that the cache has no room for one Release.
  // InvalidArgument, OutOfRange: as Allocate. NotFound: part of it is not allocated; the message
  // names which. FailedPrecondition: `after` without an executor.
  absl::Status Deallocate(Bytes offset, Bytes size, absl::Span<const LastUse> after = {});

  // Gives `device` this access to all memory of the pool, present and future; kNone revokes it. The
  // pool's device has read-write access from the start. Access is revoked at once, even for memory
  // that goes after work: nothing may still need it.
  // Driver calls: one SetAccess per contiguous run of memory.
  // InvalidArgument: no such access. NotFound (INVALID_DEVICE): no such device.
  // FailedPrecondition: the device cannot reach the memory.
  absl::Status Grant(DeviceOrdinal device, Access access);

  // Returns cached pages to the driver; the result is their total size.
  // Driver calls: one Release per page. An error leaves the rest cached.
  absl::StatusOr<Bytes> Compact();

  // Waits for the work after which memory is to go, then returns memory and addresses. If the
  // driver refuses, the rest stays, and Close can be called again. OK if closed.
  absl::Status Close();

  Bytes Capacity() const { return pages_->range().size; }
  DeviceAddress BaseAddress() const { return pages_->range().base; }
  // The requested page size, rounded up to the granularity.
  Bytes PageSize() const { return pages_->page_size(); }
  // True only if all of [offset, offset + size) is allocated; false for size 0.
  bool IsMapped(Bytes offset, Bytes size) const;
  // What the pool takes from the device: allocated, leaving and cached.
  Bytes PhysicalMemoryUsage() const;
  MemoryStats Stats() const;

 private:
  VirtualMemoryPool(std::unique_ptr<PagedReservation> pages, const PageOptions& options);
  void Tell(record::EventKind kind, const PageRun& run) const;
  void TellEnd() const;

  record::EventWriter* const events_;  // null: nobody wants to know
  const int32_t device_;               // as events have it
  mutable std::mutex mutex_;
  std::unique_ptr<PagedReservation> pages_;  // guarded by mutex_, except for what never changes
};

}  // namespace twinmmu

#endif  // TWINMMU_API_ALLOCATORS_VIRTUAL_MEMORY_POOL_H_
