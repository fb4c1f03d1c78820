// PagedReservation: a reservation that gets physical memory page by page. The pool and the buffers
// are built on it; each adds its own rules.
//
// A page is free (no memory), in use, or leaving: given up, but still mapped because work needs it.
// Each page has its own allocation and mapping, because a driver unmaps only whole mappings.

#ifndef TWINMMU_API_ALLOCATORS_PAGED_RESERVATION_H_
#define TWINMMU_API_ALLOCATORS_PAGED_RESERVATION_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/allocators/last_use.h"
#include "api/allocators/memory_stats.h"
#include "api/allocators/page_source.h"
#include "api/allocators/work_tracker.h"
#include "api/vmm.h"

namespace twinmmu {

namespace record {
class EventWriter;  // api/record/event_writer.h
}

// The pages of a pool or a buffer.
struct PageOptions {
  AllocationProperties properties;  // of each page; its location has read-write access
  Bytes page_size = MiB(2);         // a power of two, at least 64 KiB
  // How much unmapped memory is kept for reuse. Unset: 1 GiB in a pool, none elsewhere.
  std::optional<Bytes> cache_limit;
  // Of a pool: what it gives and takes back is told here, for the record of a run; null: nowhere.
  // It must outlive the pool.
  record::EventWriter* events = nullptr;
};

// Pages of 32 MiB of device 0, for memory that comes and goes in large pieces. The reference driver
// takes 40 to 60 us to grant access to a page and to unmap it, whatever its size, so smaller pages
// take longer than a copy would; larger ones leave more memory unused.
PageOptions LargePages();

// Pages [first, first + count).
struct PageRun {
  uint64_t first = 0;
  uint64_t count = 0;

  constexpr uint64_t end() const { return first + count; }
};

// Mostly one run, which needs no host memory.
using PageRuns = absl::InlinedVector<PageRun, 2>;

enum class PageState { kFree, kInUse, kLeaving };

// Runs passed must lie within the capacity; an empty one does nothing. Only Close waits for work.
// Driver calls: only those named. Thread safety: one thread at a time.
class PagedReservation {
 public:
  // Reserves `capacity`, rounded up to pages, which are rounded up to the granularity. `executor`
  // may be null: then nothing can be given up after work.
  // InvalidArgument: a page size that is not a power of two of at least 64 KiB, a capacity of 0 or
  // that wraps. Errors of AddressReserve and GetAllocationGranularity.
  static absl::StatusOr<std::unique_ptr<PagedReservation>> Make(Vmm* vmm, Executor* executor,
                                                                Bytes capacity,
                                                                const PageOptions& options);
  ~PagedReservation();

  // Gives all of `run` memory: free pages get it, leaving ones stay, with their contents. Per free
  // page one Create, unless one is cached, and one Map; per contiguous run of them one SetAccess.
  // An error changes nothing. Errors: those of these calls.
  absl::Status Commit(const PageRun& run);

  // Takes the memory of the pages of `run` that are in use: with `after`, when that work is done;
  // otherwise at once. Per contiguous run of them one Unmap; per page that is not cached one
  // Release. An error changes nothing, unless the message says otherwise.
  absl::Status Decommit(const PageRun& run, absl::Span<const LastUse> after);

  // Like Decommit, to undo a successful Commit: neither call counts in the statistics.
  absl::Status UndoCommit(const PageRun& run, absl::Span<const LastUse> after);

  // Later work on `stream` waits for `work`. Errors: those of the executor.
  absl::Status LetWait(Stream stream, absl::Span<const LastUse> work) {
    return tracker_.LetWait(stream, work);
  }

  // Unmaps the leaving pages whose work is done; what the driver refuses stays leaving. Call it
  // before a query or a call that depends on it. Per run one Unmap.
  void CollectFinished();

  // Sets the access of `device` to all pages, present and future, with one SetAccess per contiguous
  // run. An error changes nothing. InvalidArgument: no such access. FailedPrecondition: the device
  // cannot reach the memory. NotFound (INVALID_DEVICE): no such device.
  absl::Status Grant(DeviceOrdinal device, Access access);

  // Returns cached pages to the driver; the result is their total size. An error leaves the rest
  // cached.
  absl::StatusOr<Bytes> Compact();

  // Waits for the work after which memory is to go, then returns everything. If the driver refuses,
  // what is left stays as it was, and Close can be called again. Every later call is
  // FailedPrecondition.
  absl::Status Close();
  // FailedPrecondition once closed.
  absl::Status CheckOpen() const;
  // The driver's error if a page of `run` is leaving only because the driver did not unmap it.
  absl::Status CheckNoneRefused(const PageRun& run) const;

  // The pages of [offset, offset + size), as users name them. InvalidArgument: size 0, or not
  // multiples of the page size. OutOfRange: beyond the capacity. FailedPrecondition: closed.
  absl::StatusOr<PageRun> PagesOf(Bytes offset, Bytes size) const;
  // The pages that hold [offset, offset + size), or nothing if that is beyond the capacity.
  std::optional<PageRun> PagesAround(Bytes offset, Bytes size) const;
  // "offset 4 MiB, size 2 MiB".
  std::string Describe(const PageRun& run) const;

  // The first run of pages of this state within `run`.
  std::optional<PageRun> FirstRun(const PageRun& run, PageState state) const;
  PageRuns Runs(const PageRun& run, PageState state) const;
  // Whether every page of `run`, which is not empty, is in use.
  bool AllInUse(const PageRun& run) const;

  // The access granted last.
  Access AccessOf(DeviceOrdinal device) const;

  const AddressRange& range() const { return range_; }
  AddressRange RangeOf(const PageRun& run) const;
  Bytes page_size() const { return page_size_; }
  PageRun all() const { return PageRun{0, range_.size / page_size_}; }
  // What this object takes from the device: in use, leaving or cached.
  Bytes physical_memory() const;
  MemoryStats stats() const;

 private:
  struct Page {
    AllocationHandle handle;
    uint64_t departure = 0;  // the number of the Departure that takes it; 0: in use
  };
  // Pages that go when work is done: those of `run` that still have its number. The others were
  // requested again.
  struct Departure {
    uint64_t number;
    PageRun run;
    WorkTracker::Mark mark;
    absl::Status refused;  // what the driver said when it was last asked to unmap them
  };

  PagedReservation(Vmm* vmm, Executor* executor, const AddressRange& range, Bytes page_size,
                   const PageOptions& options);

  // Driver calls, counted.
  absl::Status Map(uint64_t page, AllocationHandle handle);
  absl::Status Unmap(const PageRun& run);
  absl::Status SetAccess(const PageRun& run, absl::Span<const AccessGrant> grants);

  // The first run within `run` of mapped pages that `match`.
  template <typename Match>
  std::optional<PageRun> FirstMapped(const PageRun& run, const Match& match) const {
    auto page = pages_.lower_bound(run.first);
    const auto inside = [&] { return page != pages_.end() && page->first < run.end(); };
    while (inside() && !match(page->second)) ++page;
    if (!inside()) return std::nullopt;
    PageRun found{page->first, 0};
    for (; inside() && page->first == found.end() && match(page->second); ++page) ++found.count;
    return found;
  }
  PageRuns MappedRuns() const;
  absl::Status CheckGrant(DeviceOrdinal device, Access access) const;
  // Maps a run and grants access to it. After an error, `mapped` of its pages are mapped.
  absl::Status MapRun(const PageRun& run, absl::Span<const AllocationHandle> handles,
                      uint64_t& mapped);
  // All or nothing; what the driver does not take back is removed from `batch`, and leaving.
  absl::Status MapRuns(absl::Span<const PageRun> runs, PageSource::Batch& batch);
  void TakeBack(absl::Span<const PageRun> mapped, PageSource::Batch& batch);
  // The pages of `run` that are leaving do not.
  void StayInUse(const PageRun& run);
  absl::Status UnmapRuns(absl::Span<const PageRun> runs);
  absl::Status RestoreMappings(absl::Span<const PageRun> runs);
  void Depart(const PageRun& run, WorkTracker::Mark mark, const absl::Status& refused);
  // Unmaps what is left of it. True when nothing is.
  bool Finish(Departure& departure);
  // Adds mapped pages to the table, in use; `handles` begin with theirs.
  void Remember(const PageRun& run, absl::Span<const AllocationHandle> handles);
  // Removes pages that are no longer mapped.
  void Forget(const PageRun& run);

  Vmm* vmm_;
  AddressRange range_;
  Bytes page_size_;
  Location owner_;
  DriverCallCounts calls_;
  PageSource source_;
  WorkTracker tracker_;
  absl::btree_map<uint64_t, Page> pages_;  // by page number; those that are mapped
  std::deque<Departure> departures_;
  uint64_t last_departure_ = 0;
  std::vector<AccessGrant> grants_;
  uint64_t in_use_ = 0;  // pages
  uint64_t peak_ = 0;
  uint64_t commits_ = 0;
  uint64_t decommits_ = 0;
  bool open_ = true;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_ALLOCATORS_PAGED_RESERVATION_H_
