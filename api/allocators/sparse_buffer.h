// SparseBuffer: a large span of device addresses in which tiles gain and lose memory.
//
//   auto buffer = SparseBuffer::Make(vmm, executor, TiB(1));
//   auto status = (*buffer)->Commit(offset, 4 * (*buffer)->tile_size());
//   status = (*buffer)->Decommit(offset, (*buffer)->tile_size(), {stream});
//
// Unlike a pool it has one user: committing what is resident, and decommitting what is not, is OK
// and does nothing, and resident tiles keep their contents.

#ifndef TWINMMU_API_ALLOCATORS_SPARSE_BUFFER_H_
#define TWINMMU_API_ALLOCATORS_SPARSE_BUFFER_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/allocators/last_use.h"
#include "api/allocators/memory_stats.h"
#include "api/allocators/paged_reservation.h"
#include "api/executor.h"
#include "api/vmm.h"

namespace twinmmu {

// Offsets and sizes are multiples of tile_size(). Every call fails with FailedPrecondition after
// Close. An error leaves residency, contents, access and physical memory as they were, unless its
// message says otherwise. Driver errors keep their code as payload. Thread safety: const calls may
// run concurrently.
class SparseBuffer {
 public:
  // Reserves `size` bytes of addresses, rounded up to tiles, which are the pages of `options`, but
  // no memory. `executor` is needed only to decommit after work, and may be null. Both must outlive
  // the buffer. Errors: those of VirtualMemoryPool::Make.
  static absl::StatusOr<std::unique_ptr<SparseBuffer>> Make(
      Vmm* vmm, Executor* executor, Bytes size, const PageOptions& options = PageOptions());
  // Like Close; errors go to the hook of destructor_errors.h.
  ~SparseBuffer() = default;

  // Makes all tiles of [offset, offset + size) resident. The contents of new ones are undefined;
  // tiles that were decommitted after work that is not done yet keep theirs.
  // Driver calls: per tile that was not resident one Create, unless a page is cached, and one Map;
  // per contiguous run of them one SetAccess. All tiles or none.
  // InvalidArgument: size 0, or not multiples of the tile size. OutOfRange: beyond the buffer.
  // ResourceExhausted: out of memory.
  absl::Status Commit(Bytes offset, Bytes size);

  // Takes the memory of the resident tiles of [offset, offset + size): with `after`, when that work
  // is done, in a later call on the buffer; otherwise at once, and the caller must know that
  // nothing uses them. They are no longer resident in either case. For tiles that were committed
  // again before their memory went, only the work named now counts. Driver calls: per contiguous
  // run of them one Unmap; per tile that is not cached one Release. Errors: those of Commit.
  // FailedPrecondition: `after` without an executor.
  absl::Status Decommit(Bytes offset, Bytes size, absl::Span<const LastUse> after = {});

  // Like VirtualMemoryPool::Grant, Compact and Close.
  absl::Status Grant(DeviceOrdinal device, Access access) { return pages_->Grant(device, access); }
  absl::StatusOr<Bytes> Compact() { return pages_->Compact(); }
  absl::Status Close() { return pages_->Close(); }

  DeviceAddress address() const { return pages_->range().base; }
  Bytes size() const { return pages_->range().size; }
  Bytes tile_size() const { return pages_->page_size(); }
  // True only if all of [offset, offset + size) is resident; false for size 0 and beyond the end.
  bool IsResident(Bytes offset, Bytes size) const;
  Bytes resident_size() const { return pages_->stats().in_use; }
  // The resident ranges in address order, no two of them adjacent.
  std::vector<AddressRange> ResidentRanges() const;
  MemoryStats stats() const { return pages_->stats(); }

 private:
  explicit SparseBuffer(std::unique_ptr<PagedReservation> pages) : pages_(std::move(pages)) {}

  std::unique_ptr<PagedReservation> pages_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_ALLOCATORS_SPARSE_BUFFER_H_
