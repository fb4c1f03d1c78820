// cuMemGetAccess.

#include "conformance/fixtures/host_memory_fixture.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

constexpr Location kNoDevice{LocationType::kDevice, 9999};

}  // namespace

CONFORMANCE_TEST(MappedTest, GETACC_1, AnswersAtAnyAddressInside) {
  for (const Access access : {Access::kReadWrite, Access::kRead}) {
    ASSERT_THAT(Grant(mapping(), access), IsOk());
    for (const Bytes at :
         {Bytes(0), Bytes(1), Bytes(4095), granule() + Bytes(3), allocation_size() - Bytes(1)}) {
      EXPECT_THAT(vmm().GetAccess(here(), mapping().base + at), IsOkAndHolds(access)) << at;
    }
  }
}

CONFORMANCE_TEST(MappedTest, GETACC_2, RefusesWhereNothingIsMapped) {
  for (const DeviceAddress address :
       {mapping().end(), reservation().base + TiB(1), DeviceAddress(0)}) {
    EXPECT_THAT(vmm().GetAccess(here(), address), HasDriverCode(DriverCode::kInvalidValue))
        << address;
  }
}

CONFORMANCE_TEST(MappedTest, GETACC_3, RefusesAnUnknownLocation) {
  for (const Location& bad :
       {kNoDevice, Location{LocationType::kDevice, -1}, Location{static_cast<LocationType>(0), 0},
        Location{static_cast<LocationType>(99), 0}, Location::HostNumaCurrent()}) {
    EXPECT_THAT(vmm().GetAccess(bad, mapping().base), HasDriverCode(DriverCode::kInvalidDevice))
        << bad;
  }
}

CONFORMANCE_TEST(ReservedTest, GETACC_4, LocationBeforeAddress) {
  EXPECT_THAT(vmm().GetAccess(kNoDevice, reservation().base),
              HasDriverCode(DriverCode::kInvalidDevice));
}

CONFORMANCE_TEST(MappedTest, GETACC_5, TheHostHasNoAccess) {
  const auto host = vmm().GetAccess(Location::Host(), mapping().base);
  if (Deviates(Deviation::kHostIsAnsweredWithTheRightOfDevice0)) {
    EXPECT_THAT(host, IsOkAndHolds(Access::kReadWrite));
    ASSERT_THAT(Grant(mapping(), Access::kRead), IsOk());
    EXPECT_THAT(vmm().GetAccess(Location::Host(), mapping().base), IsOkAndHolds(Access::kRead));
  } else {
    EXPECT_THAT(host, IsOkAndHolds(Access::kNone));
  }
  EXPECT_THAT(vmm().GetAccess(Location::HostNuma(0), mapping().base), IsOkAndHolds(Access::kNone));
}

CONFORMANCE_TEST(HostMemoryTest, GETACC_6, TheHostIsAnsweredItsOwnRight) {
  const bool confused = Deviates(Deviation::kHostIsNotToldFromDevice0);
  const auto expect = [&](Access own, Access last) {
    EXPECT_THAT(vmm().GetAccess(kHost, range().base), IsOkAndHolds(own));
    EXPECT_THAT(vmm().GetAccess(Location::Host(), range().base),
                IsOkAndHolds(confused ? last : own));
  };
  ASSERT_THAT(Grant(range(), Access::kRead, kHost), IsOk());
  expect(Access::kRead, Access::kRead);
  ASSERT_THAT(Grant(range(), Access::kReadWrite), IsOk());
  expect(Access::kRead, Access::kReadWrite);
  ASSERT_THAT(Grant(range(), Access::kRead, kHost), IsOk()) << "which is no change";
  expect(Access::kRead, Access::kReadWrite);
  ASSERT_THAT(Grant(range(), Access::kReadWrite, kHost), IsOk());
  ASSERT_THAT(Grant(range(), Access::kRead), IsOk());
  expect(Access::kReadWrite, Access::kRead);
  const AccessGrant grants[] = {{here(), Access::kReadWrite}, {kHost, Access::kRead}};
  ASSERT_THAT(vmm().SetAccess(range(), grants), IsOk());
  expect(Access::kRead, Access::kRead);
  ASSERT_THAT(Grant(range(), Access::kNone), IsOk());
  expect(Access::kRead, Access::kRead);
}

}  // namespace twinmmu::conformance
