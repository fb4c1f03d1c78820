// cuMemSetAccess.

#include <vector>

#include "conformance/fixtures/adjacent_fixture.h"
#include "conformance/fixtures/host_memory_fixture.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr AccessGrant kToHost{{LocationType::kHost, 0}, Access::kReadWrite};
constexpr Location kNoDevice{LocationType::kDevice, 9999};

// The allocation is mapped at granule 0; two more mappings of two granules at will. No access.
class AccessTest : public ReservedTest {
 protected:
  void SetUp() override {
    ReservedTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_THAT(vmm().Map(mapping(), handle()), IsOk());
  }
  AddressRange mapping() const { return Granules(0, 4); }
  void MapTwoAt(uint64_t first) { ASSERT_THAT(MapNew(Granules(first, 2)), IsOk()); }
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

CONFORMANCE_TEST(AdjacentTest, ACC_20, OneGrantCrossesTheBorder) {
  ASSERT_NO_FATAL_FAILURE(MapBoth());
  ASSERT_THAT(Grant(both(), Access::kReadWrite), IsOk());
  ASSERT_THAT(Write(both(), 20), IsOk());
  ExpectHolds(both(), 20);
  ASSERT_THAT(Grant(both(), Access::kRead), IsOk());
  for (const AddressRange& reservation : {first(), second()}) {
    EXPECT_THAT(vmm().GetAccess(here(), reservation.base), IsOkAndHolds(Access::kRead));
    EXPECT_THAT(vmm().GetAccess(here(), reservation.end() - Bytes(1)), IsOkAndHolds(Access::kRead));
  }
}

CONFORMANCE_TEST(HostMemoryTest, ACC_24, TheHostHasOneRightUnderAllItsNames) {
  const std::vector<Location> names = {Location::Host(), Location{LocationType::kHost, 7}, kHost,
                                       Location::HostNuma(1000)};
  const auto expect = [&](Access access) {
    for (const Location& name : names) {
      EXPECT_THAT(vmm().GetAccess(name, range().base), IsOkAndHolds(access)) << name;
    }
  };
  for (size_t i = 0; i < names.size(); ++i) {
    SCOPED_TRACE(names[i]);
    ASSERT_THAT(Grant(range(), Access::kRead, names[i]), IsOk());
    expect(Access::kRead);
    ASSERT_THAT(Grant(range(), Access::kReadWrite, names[i]), IsOk());
    expect(Access::kReadWrite);
    ASSERT_THAT(Grant(range(), Access::kNone, names[(i + 1) % names.size()]), IsOk());
    expect(Access::kNone);
  }
}

CONFORMANCE_TEST(HostMemoryTest, ACC_16, MappingByMappingUpToTheUnsupportedGrant) {
  // Memory of the host, then of the device, side by side.
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange both, vmm().AddressReserve(4 * granule()));
  const AddressRange first = both.subrange(Bytes(0), 2 * granule());
  const AddressRange second = both.subrange(2 * granule(), 2 * granule());
  for (const auto& [to, from] : {std::pair(first, range()), std::pair(second, of_device())}) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle,
                                 vmm().RetainAllocationHandle(from.base));
    ASSERT_THAT(vmm().Map(to, handle), IsOk());
  }
  const auto expect = [&](const AddressRange& mapping, Access of_device, Access of_host) {
    EXPECT_THAT(vmm().GetAccess(here(), mapping.base), IsOkAndHolds(of_device));
    EXPECT_THAT(vmm().GetAccess(kHost, mapping.base), IsOkAndHolds(of_host));
  };
  const AccessGrant device_reads{here(), Access::kRead};
  const AccessGrant host_writes{kHost, Access::kReadWrite};
  for (const bool host_first : {true, false}) {
    SCOPED_TRACE(host_first);
    ASSERT_THAT(Grant(both, Access::kNone), IsOk());
    ASSERT_THAT(Grant(both, Access::kNone, kHost), IsOk());
    const std::vector<AccessGrant> grants = host_first ? std::vector{host_writes, device_reads}
                                                       : std::vector{device_reads, host_writes};
    EXPECT_THAT(vmm().SetAccess(both, grants), HasDriverCode(DriverCode::kNotSupported));
    if (Deviates(Deviation::kSetAccessAppliesWhatPrecedesAnUnsupportedGrant)) {
      expect(first, Access::kRead, Access::kReadWrite);
      expect(second, host_first ? Access::kNone : Access::kRead, Access::kNone);
    } else {
      expect(first, Access::kNone, Access::kNone);
      expect(second, Access::kNone, Access::kNone);
    }
  }
}

}  // namespace twinmmu::conformance
