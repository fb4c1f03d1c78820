// PageSource: physical pages of one size and kind, kept for reuse within a limit.

#ifndef TWINMMU_API_ALLOCATORS_PAGE_SOURCE_H_
#define TWINMMU_API_ALLOCATORS_PAGE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/allocators/memory_stats.h"
#include "api/vmm.h"

namespace twinmmu {

// Its destructor releases nothing: the owner calls Compact, and handles its error.
// Thread safety: one thread at a time.
class PageSource {
 public:
  // Pages that were taken together; those from the cache come first.
  struct Batch {
    std::vector<AllocationHandle> handles;
    size_t from_cache = 0;
  };

  // `vmm` and `calls`, which counts the calls, must outlive this object.
  PageSource(Vmm* vmm, const AllocationProperties& properties, Bytes page_size, Bytes cache_limit,
             DriverCallCounts* calls);

  // All or nothing; an error leaves the cache unchanged. Errors: those of Create.
  absl::StatusOr<Batch> Take(uint64_t count);
  // As if `batch` had not been taken: its new pages are released, the others are cached.
  void Undo(const Batch& batch);
  // Keeps a page that is not mapped, or releases it if the limit is reached.
  void Put(AllocationHandle page);
  // Releases all cached pages. After an error, the rest are still cached.
  absl::Status Compact();

  uint64_t cached() const { return cache_.size(); }

 private:
  // A page that the driver refuses to release stays in the cache, so that it is not lost.
  void ReleaseOrKeep(AllocationHandle page);
  absl::Status Release(AllocationHandle page);

  Vmm* vmm_;
  AllocationProperties properties_;
  Bytes page_size_;
  uint64_t limit_;  // pages
  DriverCallCounts* calls_;
  std::vector<AllocationHandle> cache_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_ALLOCATORS_PAGE_SOURCE_H_
