// KvCache: memory of sequences that share what they have in common, as inference servers keep it.
// Each sequence sees its pages at addresses of its own, one behind the other, so kernels need no
// table of pages; a page that several sequences share is one allocation, mapped several times.
//
//   auto cache = KvCache::Make(vmm, executor).value();
//   KvCache::Sequence prompt = cache->Add().value();
//   absl::Status status = cache->Grow(prompt, MiB(10));
//   AddressRange range = cache->RangeOf(prompt).value();   // work writes there on `stream`
//   KvCache::Sequence answer = cache->Fork(prompt, MiB(9), {stream}).value();  // no memory
//   status = cache->MakeWritable(answer, MiB(8), MiB(1));  // copies one page of 2 MiB
//   status = cache->Grow(answer, MiB(20));
//   status = cache->Remove(prompt, {stream});              // `answer` keeps what it shares
//
// Pages that are shared can only be read: a write that forgot MakeWritable faults at once, where it
// would else change the other sequences' past.

#ifndef TWINMMU_TOOLS_EXAMPLES_ALLOCATORS_KV_CACHE_H_
#define TWINMMU_TOOLS_EXAMPLES_ALLOCATORS_KV_CACHE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/allocators/last_use.h"
#include "api/allocators/owners.h"
#include "api/allocators/work_tracker.h"
#include "api/executor.h"
#include "api/vmm.h"

namespace twinmmu::examples {

// Errors leave all sequences as they were, with their contents, unless a call says otherwise; those
// of the driver keep its code. NotFound: no such sequence, or it was removed. Thread safety: one
// thread at a time.
class KvCache {
 public:
  struct Options {
    AllocationProperties properties;   // their location is a device
    Bytes page_size = MiB(2);          // rounded up to the granularity
    Bytes longest_sequence = GiB(1);   // addresses of each; rounded up to pages
    std::vector<DeviceOrdinal> peers;  // devices that may use all sequences as well
  };
  using Sequence = uint64_t;
  struct Stats {
    uint64_t sequences = 0;  // those removed not among them
    Bytes mapped;            // as if nothing were shared
    Bytes physical;          // what the device lacks because of this cache
  };

  // Both `vmm` and `executor` must outlive the cache. InvalidArgument: one of them is null, the
  // location is no device, a size of 0 or that wraps. Errors of GetAllocationGranularity,
  // AddressReserve and CreateStream.
  static absl::StatusOr<std::unique_ptr<KvCache>> Make(Vmm* vmm, Executor* executor,
                                                       Options options);
  static absl::StatusOr<std::unique_ptr<KvCache>> Make(Vmm* vmm, Executor* executor) {
    return Make(vmm, executor, Options());
  }
  // Waits for the work that Remove was given; nothing else may use the sequences. Errors go to the
  // hook of destructor_errors.h. What it cannot wait for stays for good.
  ~KvCache();

  // A sequence without memory.
  absl::StatusOr<Sequence> Add();

  // A sequence that begins with the first `prefix` bytes of `parent`, rounded up to pages: the same
  // memory. Waits for `after`, which is to be all work that writes there, since both can only read
  // it from then on. OutOfRange: the parent is shorter. DataLoss: MakeWritable lost a page of it.
  absl::StatusOr<Sequence> Fork(Sequence parent, Bytes prefix,
                                absl::Span<const LastUse> after = {});

  // Gives the sequence memory for `size` bytes, with undefined contents; what it has stays. OK if
  // it has as much. Driver calls: per new page one Create and one Map; one SetAccess.
  // OutOfRange: more than the longest sequence. ResourceExhausted: out of memory.
  absl::Status Grow(Sequence sequence, Bytes size);

  // Makes [offset, offset + size) writable: pages that are shared are copied, at the same
  // addresses. Waits for `after`, all work that uses this sequence there, if there is a page to
  // copy. After an error some pages may be writable already; the contents are what they were.
  // OutOfRange: beyond what has memory. DataLoss: see its message. Unavailable: an earlier copy
  // failed, and nobody knows yet whether it is over.
  absl::Status MakeWritable(Sequence sequence, Bytes offset, Bytes size,
                            absl::Span<const LastUse> after = {});

  // Ends a sequence; pages that no other one shares go when `after` is done, in a later call, or
  // at once without. What the driver refuses is tried again by later calls.
  absl::Status Remove(Sequence sequence, absl::Span<const LastUse> after = {});

  // The addresses that have memory.
  absl::StatusOr<AddressRange> RangeOf(Sequence sequence) const;
  Stats GetStats() const;

 private:
  struct Page {
    std::shared_ptr<Allocation> memory;
    Mapping mapping;
    bool writable = false;
  };
  struct Pages {
    Reservation addresses;
    std::vector<Page> pages;
    WorkTracker::Mark last_use;  // of what was removed
  };
  // Of a page, on its way; nothing between two copies, unless nobody knows whether one is over.
  struct Copy {
    std::shared_ptr<Allocation> memory;
    Mapping target;
  };

  KvCache(Vmm* vmm, Executor* executor, Options options, Reservation staging, Stream stream);

  std::vector<AccessGrant> Grants(Access access) const;
  absl::StatusOr<Pages*> Find(Sequence sequence) const;
  uint64_t PageCount(Bytes size) const;
  absl::StatusOr<Pages> NewPages();
  Sequence Insert(Pages pages);
  absl::Status Wait(absl::Span<const LastUse> work);
  // DataLoss: one of these pages is not mapped.
  static absl::Status CheckMapped(const Pages& pages, uint64_t first, uint64_t count);
  absl::StatusOr<Page> MapPage(const Pages& pages, uint64_t number,
                               std::shared_ptr<Allocation> memory);
  absl::StatusOr<std::shared_ptr<Allocation>> NewMemory();
  absl::StatusOr<std::shared_ptr<Allocation>> CopyOf(const Page& page);
  // Waits for the last copy and gives up its target. False: nobody knows whether it is over.
  bool EndCopy();
  // Puts other memory behind the addresses of a page. An error restores it, or is DataLoss.
  absl::Status Replace(Pages& pages, uint64_t number, std::shared_ptr<Allocation> memory);
  static absl::Status Close(Pages& pages);
  void CollectRemoved();

  Vmm* const vmm_;
  Executor* const executor_;
  const Options options_;
  WorkTracker tracker_;
  Reservation staging_;  // one page, where copies are made
  Stream stream_;        // of the copies
  Copy copy_;
  std::map<Sequence, std::unique_ptr<Pages>> sequences_;
  std::vector<Pages> removed_;
  Sequence last_sequence_ = 0;
};

}  // namespace twinmmu::examples

#endif  // TWINMMU_TOOLS_EXAMPLES_ALLOCATORS_KV_CACHE_H_
