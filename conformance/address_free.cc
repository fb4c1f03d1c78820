// cuMemAddressFree.

#include "conformance/registry.h"

namespace twinmmu::conformance {

CONFORMANCE_TEST(PhysicalTest, FREE_1, NothingCanBeMappedInAFreedReservation) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, vmm().AddressReserve(allocation_size()));
  ASSERT_THAT(vmm().AddressFree(range), IsOk());
  ExpectRefused(DriverCode::kInvalidValue, range, [&] { return vmm().Map(range, handle()); });
}

CONFORMANCE_TEST(ReservedTest, FREE_2, RefusesAnotherSize) {
  const Bytes size = reservation().size;
  for (const Bytes wrong : {Bytes(0), size / 2, 2 * size, size - Bytes(1), size + Bytes(1),
                            size - granule(), Bytes(0) - granule()}) {
    EXPECT_THAT(vmm().AddressFree({reservation().base, wrong, Bytes(0)}),
                HasDriverCode(DriverCode::kInvalidValue))
        << wrong;
  }
  EXPECT_THAT(vmm().Map(Granules(4, 4), handle()), IsOk()) << "the reservation must be whole";
}

CONFORMANCE_TEST(ReservedTest, FREE_3, RefusesAnAddressInside) {
  EXPECT_THAT(vmm().AddressFree(Granules(1, 7)), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(vmm().Map(Granules(4, 4), handle()), IsOk()) << "the reservation must be whole";
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
  ReserveOptions options;
  options.hint = first.end();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange second,
                               vmm().AddressReserve(2 * granule(), options));
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

}  // namespace twinmmu::conformance
