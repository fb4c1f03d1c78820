// cuMemAddressFree.

#include "conformance/fixtures/adjacent_fixture.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

class FreeTest : public ReservedTest {
 protected:
  // All of the reservation can be mapped, so none of it was freed.
  void ExpectStillReserved() {
    EXPECT_THAT(vmm().Map(Granules(0, 4), handle()), IsOk());
    EXPECT_THAT(vmm().Map(Granules(4, 4), handle()), IsOk());
  }
};

}  // namespace

CONFORMANCE_TEST(PhysicalTest, FREE_1, NothingCanBeMappedInAFreedReservation) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, vmm().AddressReserve(allocation_size()));
  ASSERT_THAT(vmm().AddressFree(range), IsOk());
  ExpectRefused(DriverCode::kInvalidValue, range, [&] { return vmm().Map(range, handle()); });
}

CONFORMANCE_TEST(FreeTest, FREE_2, RefusesAnotherSize) {
  const Bytes size = reservation().size;
  for (const Bytes wrong : {Bytes(0), size / 2, 2 * size, size - Bytes(1), size + Bytes(1),
                            size - granule(), Bytes(0) - granule()}) {
    EXPECT_THAT(vmm().AddressFree({reservation().base, wrong, Bytes(0)}),
                HasDriverCode(DriverCode::kInvalidValue))
        << wrong;
  }
  ExpectStillReserved();
}

CONFORMANCE_TEST(FreeTest, FREE_3, RefusesAnAddressInside) {
  const Bytes size = reservation().size;
  for (const Bytes inside : {Bytes(1), granule(), size - granule()}) {
    for (const Bytes wrong : {size, size - inside}) {
      EXPECT_THAT(vmm().AddressFree({reservation().base + inside, wrong, Bytes(0)}),
                  HasDriverCode(DriverCode::kInvalidValue))
          << inside << " inside, size " << wrong;
    }
  }
  ExpectStillReserved();
}

CONFORMANCE_TEST(ConformanceTest, FREE_4, RefusesASecondFree) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, vmm().AddressReserve(granule()));
  ASSERT_THAT(vmm().AddressFree(range), IsOk());
  EXPECT_THAT(vmm().AddressFree(range), HasDriverCode(DriverCode::kInvalidValue));
}

CONFORMANCE_TEST(MappedTest, FREE_5, RefusesWhileSomethingIsMapped) {
  ASSERT_THAT(Write(mapping(), 1), IsOk());
  ExpectRefused(DriverCode::kInvalidValue, reservation(),
                [&] { return vmm().AddressFree(reservation()); });
  ExpectHolds(mapping(), 1);
  ASSERT_THAT(vmm().Unmap(mapping()), IsOk());
  EXPECT_THAT(vmm().AddressFree(reservation()), IsOk());
}

CONFORMANCE_TEST(ConformanceTest, FREE_6, RefusesTwoAdjacentReservationsAtOnce) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange first, vmm().AddressReserve(2 * granule()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange second,
                               vmm().AddressReserve(2 * granule(), Hint(first.end())));
  // Where the hint was not honoured this is only one more wrong size, and refused all the same.
  EXPECT_THAT(vmm().AddressFree({first.base, 4 * granule(), Bytes(0)}),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(vmm().AddressFree(second), IsOk());
  EXPECT_THAT(vmm().AddressFree(first), IsOk());
}

CONFORMANCE_TEST(ReservedTest, FREE_7, RefusesNullAndStrangers) {
  EXPECT_THAT(vmm().AddressFree({DeviceAddress(0), granule(), Bytes(0)}),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(vmm().AddressFree({reservation().base + TiB(1), granule(), Bytes(0)}),
              HasDriverCode(DriverCode::kInvalidValue));
}

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

}  // namespace twinmmu::conformance
