// PoolTest: the fixture of the tests of api/allocators/virtual_memory_pool.h.

#ifndef TWINMMU_CONFORMANCE_ALLOCATORS_POOL_FIXTURE_H_
#define TWINMMU_CONFORMANCE_ALLOCATORS_POOL_FIXTURE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "api/allocators/virtual_memory_pool.h"
#include "conformance/allocators/fixture.h"

namespace twinmmu::conformance {

// Pools of it have pages of one granule; offsets and sizes are written in pages.
class PoolTest : public AllocatorTest {
 protected:
  using Pool = std::unique_ptr<VirtualMemoryPool>;

  absl::StatusOr<Pool> MakePool(uint64_t pages) { return MakePool(pages, Granules()); }
  absl::StatusOr<Pool> MakePool(uint64_t pages, const PageOptions& options) {
    return VirtualMemoryPool::Make(&vmm(), &executor(), Pages(pages), options);
  }

  AddressRange RangeOf(const Pool& pool, uint64_t first, uint64_t count = 1) const {
    return {pool->BaseAddress() + Pages(first), Pages(count), Bytes(0)};
  }
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_ALLOCATORS_POOL_FIXTURE_H_
