// cuMemSetAccess, cuMemGetAccess.

#include <vector>

#include "conformance/registry.h"

namespace twinmmu::conformance {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr AccessGrant kToHost{{LocationType::kHost, 0}, Access::kReadWrite};
constexpr Location kNoDevice{LocationType::kDevice, 9999};

// The allocation is mapped at granule 0; two more mappings of two granules at will. No rights.
class AccessTest : public ReservedTest {
 protected:
  void SetUp() override {
    ReservedTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_THAT(vmm().Map(mapping(), handle()), IsOk());
  }
  AddressRange mapping() const { return Granules(0, 4); }
  void MapTwoAt(uint64_t first) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle part,
                                 vmm().Create(2 * granule(), properties()));
    ASSERT_THAT(vmm().Map(Granules(first, 2), part), IsOk());
  }
  Access AccessAt(uint64_t granule_index) {
    const auto access = vmm().GetAccess(here(), Granules(granule_index, 1).base);
    EXPECT_THAT(access, IsOk());
    return access.value_or(static_cast<Access>(77));
  }
};

}  // namespace

CONFORMANCE_TEST(AccessTest, ACC_1, ReadsBackAtEveryAddress) {
  for (const Access access : {Access::kReadWrite, Access::kRead, Access::kNone}) {
    ASSERT_THAT(Grant(mapping(), access), IsOk());
    for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(AccessAt(i), access) << "granule " << i;
    EXPECT_THAT(vmm().GetAccess(here(), mapping().end() - Bytes(1)), IsOkAndHolds(access));
  }
}

CONFORMANCE_TEST(MappedTest, ACC_2, RightsChangeAndDataStays) {
  ASSERT_THAT(Write(mapping(), 2), IsOk());
  for (const Access access : {Access::kRead, Access::kNone, Access::kRead, Access::kReadWrite,
                              Access::kNone, Access::kReadWrite, Access::kReadWrite}) {
    ASSERT_THAT(Grant(mapping(), access), IsOk());
    EXPECT_THAT(vmm().GetAccess(here(), mapping().base), IsOkAndHolds(access));
    if (access != Access::kNone) ExpectHolds(mapping(), 2);
  }
}

CONFORMANCE_TEST(AccessTest, ACC_3, CoversSeveralMappings) {
  ASSERT_NO_FATAL_FAILURE(MapTwoAt(4));
  ASSERT_NO_FATAL_FAILURE(MapTwoAt(6));
  for (const Access access : {Access::kReadWrite, Access::kRead}) {
    ASSERT_THAT(Grant(reservation(), access), IsOk());
    for (uint64_t i = 0; i < 8; ++i) EXPECT_EQ(AccessAt(i), access) << "granule " << i;
  }
}

CONFORMANCE_TEST(AccessTest, ACC_4, GrantsATailAlone) {
  ASSERT_THAT(Grant(mapping(), Access::kRead), IsOk());
  ASSERT_NO_FATAL_FAILURE(MapTwoAt(4));
  ASSERT_THAT(Grant(Granules(4, 2), Access::kReadWrite), IsOk());
  EXPECT_EQ(AccessAt(3), Access::kRead);
  EXPECT_EQ(AccessAt(4), Access::kReadWrite);
}

CONFORMANCE_TEST(AccessTest, ACC_5, RefusesAPartOfAMapping) {
  ASSERT_NO_FATAL_FAILURE(MapTwoAt(4));
  for (const AddressRange& part :
       {Granules(0, 1), Granules(1, 2), Granules(3, 1), Granules(2, 4), Granules(0, 5)}) {
    ExpectRefused(DriverCode::kInvalidValue, reservation(),
                  [&] { return Grant(part, Access::kReadWrite); });
  }
}

CONFORMANCE_TEST(AccessTest, ACC_6, RefusesAHoleInTheMiddle) {
  ASSERT_NO_FATAL_FAILURE(MapTwoAt(6));
  if (Deviates(Deviation::kSetAccessStopsAtAHole)) {
    ASSERT_THAT(Grant(reservation(), Access::kReadWrite), IsOk());
    EXPECT_EQ(AccessAt(0), Access::kReadWrite);
    EXPECT_EQ(AccessAt(3), Access::kReadWrite);
    EXPECT_EQ(AccessAt(6), Access::kNone);
  } else {
    ExpectRefused(DriverCode::kInvalidValue, reservation(),
                  [&] { return Grant(reservation(), Access::kReadWrite); });
  }
}

CONFORMANCE_TEST(AccessTest, ACC_7, RefusesAHoleAtEitherEnd) {
  ASSERT_NO_FATAL_FAILURE(MapTwoAt(6));
  for (const AddressRange& range : {Granules(0, 5), Granules(5, 3), Granules(4, 2)}) {
    ExpectRefused(DriverCode::kInvalidValue, reservation(),
                  [&] { return Grant(range, Access::kReadWrite); });
  }
}

CONFORMANCE_TEST(AccessTest, ACC_8, RefusesSizesThatAreNotThoseOfMappings) {
  const Bytes size = allocation_size();
  for (const Bytes wrong : {Bytes(0), Bytes(1), granule() - Bytes(1), size - Bytes(1),
                            size + Bytes(1), Bytes(0) - granule(), Bytes(uint64_t{1} << 63)}) {
    ExpectRefused(DriverCode::kInvalidValue, reservation(), [&] {
      return Grant({mapping().base, wrong, Bytes(0)}, Access::kReadWrite);
    });
  }
  for (const Bytes off : {Bytes(1), granule() / 512, granule() / 32}) {
    ExpectRefused(DriverCode::kInvalidValue, reservation(), [&] {
      return Grant({mapping().base + off, size, Bytes(0)}, Access::kReadWrite);
    });
  }
}

CONFORMANCE_TEST(ReservedTest, ACC_9, RefusesWhereNothingIsMapped) {
  for (const DeviceAddress base :
       {reservation().base, reservation().base + TiB(1), DeviceAddress(0)}) {
    ExpectRefused(DriverCode::kInvalidValue, reservation(), [&] {
      return Grant({base, 4 * granule(), Bytes(0)}, Access::kReadWrite);
    });
  }
}

CONFORMANCE_TEST(AccessTest, ACC_10, RefusesAnEmptyList) {
  ASSERT_THAT(Grant(mapping(), Access::kRead), IsOk());
  ExpectRefused(DriverCode::kInvalidValue, reservation(),
                [&] { return vmm().SetAccess(mapping(), {}); });
}

CONFORMANCE_TEST(AccessTest, ACC_11, RefusesAnUnknownRight) {
  ASSERT_THAT(Grant(mapping(), Access::kRead), IsOk());
  for (const uint32_t access : {2u, 7u, 99u, ~0u}) {
    ExpectRefused(DriverCode::kInvalidValue, reservation(),
                  [&] { return Grant(mapping(), static_cast<Access>(access)); });
  }
}

CONFORMANCE_TEST(AccessTest, ACC_12, RefusesAnUnknownLocationType) {
  for (const int type : {0, 4, 99}) {
    ExpectRefused(DriverCode::kInvalidValue, reservation(), [&] {
      return Grant(mapping(), Access::kReadWrite, Location{static_cast<LocationType>(type), 0});
    });
  }
}

CONFORMANCE_TEST(AccessTest, ACC_13, RefusesAnUnknownDevice) {
  for (const int id : {-1, device_count(), 9999}) {
    for (const Access access : {Access::kReadWrite, Access::kNone}) {
      ExpectRefused(DriverCode::kInvalidValue, reservation(), [&] {
        return Grant(mapping(), access, Location{LocationType::kDevice, id});
      });
    }
  }
}

CONFORMANCE_TEST(AccessTest, ACC_14, OneBadGrantAndNoneIsApplied) {
  const AccessGrant good{here(), Access::kReadWrite};
  for (const AccessGrant& bad :
       {AccessGrant{kNoDevice, Access::kReadWrite}, AccessGrant{here(), static_cast<Access>(2)}}) {
    for (const std::vector<AccessGrant>& grants :
         {std::vector<AccessGrant>{good, bad}, std::vector<AccessGrant>{bad, good}}) {
      ExpectRefused(DriverCode::kInvalidValue, reservation(),
                    [&] { return vmm().SetAccess(mapping(), grants); });
    }
  }
}

CONFORMANCE_TEST(AccessTest, ACC_15, TheHostGetsNoDeviceMemory) {
  ASSERT_THAT(Grant(mapping(), Access::kRead), IsOk());
  for (const Location& host : {Location::Host(), Location::HostNuma(0)}) {
    ExpectRefused(DriverCode::kNotSupported, reservation(),
                  [&] { return Grant(mapping(), Access::kReadWrite, host); });
  }
}

CONFORMANCE_TEST(AccessTest, ACC_16, AnUnsupportedGrantAppliesNoneOfTheList) {
  const std::vector<AccessGrant> grants = {{here(), Access::kReadWrite}, kToHost};
  if (Deviates(Deviation::kSetAccessAppliesWhatPrecedesAnUnsupportedGrant)) {
    EXPECT_THAT(vmm().SetAccess(mapping(), grants), HasDriverCode(DriverCode::kNotSupported));
    EXPECT_EQ(AccessAt(0), Access::kReadWrite);
  } else {
    ExpectRefused(DriverCode::kNotSupported, reservation(),
                  [&] { return vmm().SetAccess(mapping(), grants); });
  }
  const std::vector<AccessGrant> host_first = {kToHost, {here(), Access::kRead}};
  ExpectRefused(DriverCode::kNotSupported, reservation(),
                [&] { return vmm().SetAccess(mapping(), host_first); });
}

CONFORMANCE_TEST(AccessTest, ACC_17, TheLastOfTwoGrantsCounts) {
  const AccessGrant write{here(), Access::kReadWrite};
  const AccessGrant read{here(), Access::kRead};
  ASSERT_THAT(vmm().SetAccess(mapping(), {write, read}), IsOk());
  EXPECT_EQ(AccessAt(0), Access::kRead);
  ASSERT_THAT(vmm().SetAccess(mapping(), {read, write}), IsOk());
  EXPECT_EQ(AccessAt(0), Access::kReadWrite);
}

CONFORMANCE_TEST(MappedTest, ACC_18, ARightEndsWithItsMapping) {
  ASSERT_THAT(vmm().Unmap(mapping()), IsOk());
  ASSERT_THAT(vmm().Map(mapping(), handle()), IsOk());
  EXPECT_THAT(vmm().GetAccess(here(), mapping().base), IsOkAndHolds(Access::kNone));
  EXPECT_THAT(Write(mapping(), 1), HasDriverCode(DriverCode::kInvalidValue));
}

CONFORMANCE_TEST(MappedTest, ACC_19, EachMappingHasItsOwnRight) {
  const AddressRange alias = Granules(4, 4);
  ASSERT_THAT(vmm().Map(alias, handle()), IsOk());
  EXPECT_THAT(vmm().GetAccess(here(), alias.base), IsOkAndHolds(Access::kNone));
  ASSERT_THAT(Grant(alias, Access::kRead), IsOk());
  EXPECT_THAT(vmm().GetAccess(here(), mapping().base), IsOkAndHolds(Access::kReadWrite));
  ASSERT_THAT(Write(mapping(), 19), IsOk());
  EXPECT_THAT(Write(alias, 20), HasDriverCode(DriverCode::kInvalidValue));
  ExpectHolds(alias, 19);
  ASSERT_THAT(vmm().Unmap(mapping()), IsOk());
  EXPECT_THAT(vmm().GetAccess(here(), alias.base), IsOkAndHolds(Access::kRead));
}

CONFORMANCE_TEST(AccessTest, ACC_21, GrantsThenRangeThenReach) {
  for (const AddressRange& range : {Granules(4, 4), Granules(0, 1), Granules(0, 0)}) {
    ExpectRefused(DriverCode::kInvalidValue, reservation(),
                  [&] { return vmm().SetAccess(range, {kToHost}); });
  }
  const AccessGrant bad{kNoDevice, Access::kReadWrite};
  for (const std::vector<AccessGrant>& grants :
       {std::vector<AccessGrant>{kToHost, bad}, std::vector<AccessGrant>{bad, kToHost}}) {
    ExpectRefused(DriverCode::kInvalidValue, reservation(),
                  [&] { return vmm().SetAccess(mapping(), grants); });
  }
}

CONFORMANCE_TEST(AccessTest, ACC_22, TakesALongList) {
  std::vector<AccessGrant> grants(1000, AccessGrant{here(), Access::kReadWrite});
  grants.back().access = Access::kRead;
  ASSERT_THAT(vmm().SetAccess(mapping(), grants), IsOk());
  EXPECT_EQ(AccessAt(0), Access::kRead);
}

CONFORMANCE_TEST(MappedTest, ACC_23, TheHostCanBeGrantedNothing) {
  ASSERT_THAT(Grant(mapping(), Access::kRead), IsOk());
  EXPECT_THAT(Grant(mapping(), Access::kNone, Location::Host()), IsOk());
  EXPECT_THAT(vmm().GetAccess(here(), mapping().base), IsOkAndHolds(Access::kRead));
}

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

}  // namespace twinmmu::conformance
