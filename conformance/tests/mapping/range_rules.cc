// cuMemGetAddressRange.

#include "conformance/fixtures/host_memory_fixture.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {

CONFORMANCE_TEST(MappedTest, RANGE_1, GivesTheMappingFromAnyAddress) {
  ASSERT_THAT(MapNew(Granules(4, 2)), IsOk());
  ASSERT_THAT(Grant(Granules(4, 2), Access::kRead), IsOk());
  for (const Bytes at : {Bytes(0), Bytes(5), granule(), allocation_size() - Bytes(1)}) {
    EXPECT_THAT(vmm().GetAddressRange(device(), mapping().base + at), IsOkAndHolds(mapping()))
        << at;
  }
  EXPECT_THAT(vmm().GetAddressRange(device(), mapping().end()), IsOkAndHolds(Granules(4, 2)));
}

CONFORMANCE_TEST(MappedTest, RANGE_2, NothingMappedIsNotFound) {
  for (const DeviceAddress address :
       {mapping().end(), reservation().base + TiB(1), DeviceAddress(0)}) {
    EXPECT_THAT(vmm().GetAddressRange(device(), address), HasDriverCode(DriverCode::kNotFound))
        << address;
  }
}

CONFORMANCE_TEST(MappedTest, RANGE_3, NoRightIsNotFound) {
  ASSERT_THAT(Grant(mapping(), Access::kNone), IsOk());
  EXPECT_THAT(vmm().GetAddressRange(device(), mapping().base),
              HasDriverCode(DriverCode::kNotFound));
}

CONFORMANCE_TEST(HostMemoryTest, RANGE_4, HostMemoryHasARange) {
  ASSERT_THAT(Grant(range(), Access::kRead), IsOk());
  const auto found = vmm().GetAddressRange(device(), range().base + granule() + Bytes(5));
  if (Deviates(Deviation::kAddressRangeOfHostMemoryBeginsAtZero)) {
    EXPECT_THAT(found, IsOkAndHolds(AddressRange{DeviceAddress(0), range().size, Bytes(0)}));
  } else {
    EXPECT_THAT(found, IsOkAndHolds(range()));
  }
}

}  // namespace twinmmu::conformance
