// Two reservations side by side: which calls may cross the border between them.

#include "conformance/registry.h"

namespace twinmmu::conformance {
namespace {

// The reservations have 4 granules each.
class AdjacentTest : public PhysicalTest {
 protected:
  void SetUp() override {
    PhysicalTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    // Where the addresses behind the first are taken, both are kept, so that the next lie
    // elsewhere.
    for (int attempt = 0; attempt < 64; ++attempt) {
      TWINMMU_ASSERT_OK_AND_ASSIGN(first_, vmm().AddressReserve(allocation_size()));
      TWINMMU_ASSERT_OK_AND_ASSIGN(second_,
                                   vmm().AddressReserve(allocation_size(), Hint(first_.end())));
      if (second_.base == first_.end()) return;
    }
    FAIL() << "found no two reservations side by side";
  }
  const AddressRange& first() const { return first_; }
  const AddressRange& second() const { return second_; }
  AddressRange both() const { return {first_.base, 8 * granule(), Bytes(0)}; }
  // The end of the first and the start of the second.
  AddressRange across() const { return both().subrange(2 * granule(), allocation_size()); }
  void MapBoth() {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle other,
                                 vmm().Create(allocation_size(), properties()));
    ASSERT_THAT(vmm().Map(first(), handle()), IsOk());
    ASSERT_THAT(vmm().Map(second(), other), IsOk());
  }

 private:
  AddressRange first_;
  AddressRange second_;
};

}  // namespace

CONFORMANCE_TEST(AdjacentTest, FREE_8, NotFreedWhileAMappingReachesInto) {
  if (Deviates(Deviation::kMapCrossesReservations)) {
    ASSERT_THAT(vmm().Map(across(), handle()), IsOk());
    for (const AddressRange& reservation : {first(), second()}) {
      ExpectRefused(DriverCode::kInvalidValue, both(),
                    [&] { return vmm().AddressFree(reservation); });
    }
    ASSERT_THAT(vmm().Unmap(across()), IsOk());
  } else {
    EXPECT_THAT(vmm().Map(across(), handle()), HasDriverCode(DriverCode::kInvalidValue));
  }
  EXPECT_THAT(vmm().AddressFree(first()), IsOk());
  EXPECT_THAT(vmm().AddressFree(second()), IsOk());
}

CONFORMANCE_TEST(AdjacentTest, MAP_20, RefusesToCrossTheBorder) {
  if (Deviates(Deviation::kMapCrossesReservations)) {
    ASSERT_THAT(vmm().Map(across(), handle()), IsOk());
    ASSERT_THAT(Grant(across(), Access::kReadWrite), IsOk());
    ASSERT_THAT(Write(across(), 20), IsOk());
    ExpectHolds(across(), 20);
    ExpectUnmapped(both().subrange(Bytes(0), 2 * granule()));
    ExpectUnmapped(both().subrange(6 * granule(), 2 * granule()));
  } else {
    ExpectRefused(DriverCode::kInvalidValue, both(), [&] { return vmm().Map(across(), handle()); });
  }
}

CONFORMANCE_TEST(AdjacentTest, UNMAP_14, RefusesToCrossTheBorder) {
  ASSERT_NO_FATAL_FAILURE(MapBoth());
  // Whether it may cross or not: a part of the second mapping is too much.
  ExpectRefused(DriverCode::kInvalidValue, both(),
                [&] { return vmm().Unmap(both().subrange(Bytes(0), 6 * granule())); });
  if (Deviates(Deviation::kUnmapCrossesReservations)) {
    ASSERT_THAT(vmm().Unmap(both()), IsOk());
    ExpectUnmapped(both());
  } else {
    ExpectRefused(DriverCode::kInvalidValue, both(), [&] { return vmm().Unmap(both()); });
  }
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

}  // namespace twinmmu::conformance
