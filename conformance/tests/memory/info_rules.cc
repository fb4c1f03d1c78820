// cuMemGetInfo.

#include "conformance/fixtures/fixtures.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {

CONFORMANCE_TEST(DeviceTest, INFO_1, HasMemory) {
  for (int i = 0; i < device_count(); ++i) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo info, vmm().GetMemoryInfo(DeviceOrdinal(i)));
    EXPECT_GT(info.total, Bytes(0));
    EXPECT_LE(info.free, info.total);
  }
}

CONFORMANCE_TEST(ConformanceTest, INFO_2, CreateTakesItsSizeAndReleaseGivesItBack) {
  const Bytes size = 64 * granule();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo before, vmm().GetMemoryInfo(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle, vmm().Create(size, properties()));
  ExpectFree(device(), before.free - size);
  ASSERT_THAT(vmm().Release(handle), IsOk());
  ExpectFree(device(), before.free);
}

CONFORMANCE_TEST(ConformanceTest, INFO_3, MappingTakesNoMemory) {
  const Bytes size = 4 * granule();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo at_first, vmm().GetMemoryInfo(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle, vmm().Create(size, properties()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo before, vmm().GetMemoryInfo(device()));
  EXPECT_EQ(at_first.free - before.free, size) << "what takes memory must be seen to take it";
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, vmm().AddressReserve(size));
  ASSERT_THAT(MapGranted(range, handle), IsOk());
  ExpectFree(device(), before.free);
}

CONFORMANCE_TEST(ConformanceTest, INFO_4, MemoryComesBackAtTheLastOfUnmapAndRelease) {
  const Bytes size = 64 * granule();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, vmm().AddressReserve(size));
  for (const bool release_first : {true, false}) {
    SCOPED_TRACE(release_first ? "release, then unmap" : "unmap, then release");
    TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo before, vmm().GetMemoryInfo(device()));
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle, vmm().Create(size, properties()));
    ASSERT_THAT(vmm().Map(range, handle), IsOk());
    ASSERT_THAT(release_first ? vmm().Release(handle) : vmm().Unmap(range), IsOk());
    ExpectFree(device(), before.free - size);
    ASSERT_THAT(release_first ? vmm().Unmap(range) : vmm().Release(handle), IsOk());
    ExpectFree(device(), before.free);
  }
}

}  // namespace twinmmu::conformance
