// cuMemRetainAllocationHandle.

#include "conformance/fixtures/fixtures.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {

CONFORMANCE_TEST(MappedTest, RET_1, AnyAddressGivesTheHandleMapped) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle next,
                               vmm().Create(2 * granule(), properties()));
  ASSERT_THAT(vmm().Map(Granules(5, 2), next), IsOk());
  EXPECT_THAT(vmm().RetainAllocationHandle(Granules(6, 1).base), IsOkAndHolds(next));
  for (const Bytes at : {Bytes(0), Bytes(1), Bytes(4097), granule(), 2 * granule() + Bytes(7),
                         allocation_size() - Bytes(1)}) {
    EXPECT_THAT(vmm().RetainAllocationHandle(mapping().base + at), IsOkAndHolds(handle())) << at;
  }
}

CONFORMANCE_TEST(ReservedTest, RET_2, EachRetainIsAReference) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo before, vmm().GetMemoryInfo(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle mapped,
                               vmm().Create(8 * granule(), properties()));
  ASSERT_THAT(vmm().Map(reservation(), mapped), IsOk());
  ASSERT_THAT(vmm().RetainAllocationHandle(reservation().base), IsOk());
  ASSERT_THAT(vmm().Unmap(reservation()), IsOk());
  ASSERT_THAT(vmm().Release(mapped), IsOk());
  ExpectFree(device(), before.free - 8 * granule());
  ASSERT_THAT(vmm().Release(mapped), IsOk());
  ExpectFree(device(), before.free);
}

CONFORMANCE_TEST(MappedTest, RET_3, RefusesWhereNothingIsMapped) {
  for (const DeviceAddress address :
       {Granules(4, 1).base, reservation().base + TiB(1), DeviceAddress(0), DeviceAddress(16)}) {
    EXPECT_THAT(vmm().RetainAllocationHandle(address), HasDriverCode(DriverCode::kInvalidValue))
        << address;
  }
  ASSERT_THAT(vmm().Unmap(mapping()), IsOk());
  EXPECT_THAT(vmm().RetainAllocationHandle(mapping().base),
              HasDriverCode(DriverCode::kInvalidValue));
}

CONFORMANCE_TEST(MappedTest, RET_4, AMappingBringsAReleasedHandleBack) {
  ASSERT_THAT(vmm().Release(handle()), IsOk());
  EXPECT_THAT(vmm().RetainAllocationHandle(mapping().base), IsOkAndHolds(handle()));
  EXPECT_THAT(vmm().GetAllocationProperties(handle()), IsOkAndHolds(properties()));
  // It is one reference more, and when that is returned the mapping alone holds the memory again.
  EXPECT_THAT(vmm().Release(handle()), IsOk());
  EXPECT_THAT(vmm().Unmap(mapping()), IsOk());
  EXPECT_THAT(vmm().RetainAllocationHandle(mapping().base),
              HasDriverCode(DriverCode::kInvalidValue));
}

CONFORMANCE_TEST(MappedTest, RET_5, EveryMappingGivesItsOwnHandle) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle other,
                               vmm().Create(2 * granule(), properties()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange alias, vmm().AddressReserve(allocation_size()));
  ASSERT_THAT(vmm().Map(alias, handle()), IsOk());
  ASSERT_THAT(vmm().Map(Granules(4, 2), other), IsOk());
  EXPECT_THAT(vmm().RetainAllocationHandle(alias.base), IsOkAndHolds(handle()));
  EXPECT_THAT(vmm().RetainAllocationHandle(mapping().base), IsOkAndHolds(handle()));
  EXPECT_THAT(vmm().RetainAllocationHandle(Granules(4, 1).base), IsOkAndHolds(other));
  ASSERT_THAT(vmm().Unmap(mapping()), IsOk());
  EXPECT_THAT(vmm().RetainAllocationHandle(alias.base), IsOkAndHolds(handle()));
  EXPECT_THAT(vmm().RetainAllocationHandle(mapping().base),
              HasDriverCode(DriverCode::kInvalidValue));
}

}  // namespace twinmmu::conformance
