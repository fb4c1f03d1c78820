// cuMemMap.

#include "conformance/fixtures/adjacent_fixture.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

// A reservation with addresses behind it that are free, as far as one can know.
class BorderTest : public PhysicalTest {
 protected:
  void SetUp() override {
    PhysicalTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    // An implementation may place reservations anywhere. Those that have a neighbour are kept, so
    // that the next one lies elsewhere.
    for (int attempt = 0; attempt < 64; ++attempt) {
      TWINMMU_ASSERT_OK_AND_ASSIGN(last_, vmm().AddressReserve(4 * granule()));
      TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange probe,
                                   vmm().AddressReserve(4 * granule(), Hint(last_.end())));
      ASSERT_THAT(vmm().AddressFree(probe), IsOk());
      if (probe.base == last_.end()) return;
    }
    FAIL() << "found no reservation with free addresses behind it";
  }
  const AddressRange& last() const { return last_; }

 private:
  AddressRange last_;
};

}  // namespace

CONFORMANCE_TEST(MappedTest, MAP_1, CarriesDataFromFirstByteToLast) {
  ASSERT_THAT(Write(mapping(), 1), IsOk());
  ExpectHolds(mapping(), 1);
}

CONFORMANCE_TEST(ReservedTest, MAP_2, NobodyHasAccessYet) {
  ASSERT_THAT(vmm().Map(Granules(0, 4), handle()), IsOk());
  for (int i = 0; i < device_count(); ++i) {
    EXPECT_THAT(vmm().GetAccess(Location::Device(DeviceOrdinal(i)), Granules(0, 4).base),
                IsOkAndHolds(Access::kNone));
    uint32_t word = 0;
    EXPECT_THAT(executor().CopyDeviceToHost(DeviceOrdinal(i), &word, Granules(0, 4).base, Bytes(4)),
                HasDriverCode(DriverCode::kInvalidValue));
  }
}

CONFORMANCE_TEST(ReservedTest, MAP_3, MapsTheLastGranules) {
  ASSERT_THAT(MapGranted(Granules(4, 4), handle()), IsOk());
  ASSERT_THAT(Write(Granules(4, 4), 3), IsOk());
  ExpectHolds(Granules(4, 4), 3);
}

CONFORMANCE_TEST(BorderTest, MAP_4, RefusesToReachBeyondTheReservation) {
  const AddressRange beyond{last().end() - 2 * granule(), 4 * granule(), Bytes(0)};
  if (Deviates(Deviation::kMapReachesBeyondTheReservation)) {
    ASSERT_THAT(MapGranted(beyond, handle()), IsOk());
    ASSERT_THAT(Write(beyond, 4), IsOk());
    ExpectHolds(beyond, 4);
  } else {
    ExpectRefused(DriverCode::kInvalidValue, last(), [&] { return vmm().Map(beyond, handle()); });
  }
}

CONFORMANCE_TEST(MappedTest, MAP_5, RefusesWhatIsMapped) {
  ASSERT_THAT(Write(mapping(), 5), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle other,
                               vmm().Create(allocation_size(), properties()));
  for (const AllocationHandle again : {handle(), other}) {
    ExpectRefused(DriverCode::kInvalidValue, reservation(),
                  [&] { return vmm().Map(mapping(), again); });
  }
  ExpectHolds(mapping(), 5);
}

CONFORMANCE_TEST(MappedTest, MAP_6, RefusesWhatIsPartlyMapped) {
  ASSERT_THAT(Write(mapping(), 6), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle other,
                               vmm().Create(2 * granule(), properties()));
  for (const uint64_t first : {1, 2, 3}) {
    ExpectRefused(DriverCode::kInvalidValue, reservation(),
                  [&] { return vmm().Map(Granules(first, 2), other); });
  }
  ASSERT_THAT(vmm().Map(Granules(6, 2), other), IsOk());
  ExpectRefused(DriverCode::kInvalidValue, reservation(),
                [&] { return vmm().Map(Granules(5, 2), other); });
  ExpectHolds(mapping(), 6);
}

CONFORMANCE_TEST(ReservedTest, MAP_7, RefusesWhatWasNeverReserved) {
  for (const DeviceAddress base :
       {DeviceAddress(0), reservation().base + TiB(1), DeviceAddress(uint64_t{1} << 63)}) {
    EXPECT_THAT(vmm().Map({base, allocation_size(), Bytes(0)}, handle()),
                HasDriverCode(DriverCode::kInvalidValue))
        << base;
  }
}

CONFORMANCE_TEST(ReservedTest, MAP_8, RefusesAMisalignedAddress) {
  for (const Bytes off : {Bytes(1), granule() / 512, granule() / 32, granule() / 2}) {
    ExpectRefused(DriverCode::kInvalidValue, reservation(), [&] {
      return vmm().Map({reservation().base + off, allocation_size(), Bytes(0)}, handle());
    });
  }
}

CONFORMANCE_TEST(ReservedTest, MAP_9, RefusesSizeZero) {
  ExpectRefused(DriverCode::kInvalidValue, reservation(),
                [&] { return vmm().Map(Granules(0, 0), handle()); });
}

CONFORMANCE_TEST(ReservedTest, MAP_10, MapsTheFirstGranulesOfAnAllocation) {
  if (Deviates(Deviation::kMapTakesOnlyWholeAllocations)) {
    for (const uint64_t count : {1, 2, 3}) {
      ExpectRefused(DriverCode::kNotSupported, reservation(),
                    [&] { return vmm().Map(Granules(0, count), handle()); });
    }
    // Said before anything else is looked at: here the address is bad as well.
    EXPECT_THAT(vmm().Map({reservation().base + Bytes(1), granule(), Bytes(0)}, handle()),
                HasDriverCode(DriverCode::kNotSupported));
  } else {
    ASSERT_THAT(MapGranted(Granules(0, 2), handle()), IsOk());
    ASSERT_THAT(Write(Granules(0, 2), 10), IsOk());
    ExpectHolds(Granules(0, 2), 10);
  }
}

CONFORMANCE_TEST(ReservedTest, MAP_11, RefusesAnOffset) {
  for (const Bytes offset :
       {granule(), 2 * granule(), Bytes(1), 4 * granule(), TiB(1), Bytes(0) - 2 * granule()}) {
    for (const uint64_t count : {2, 4}) {
      ExpectRefused(DriverCode::kNotSupported, reservation(),
                    [&] { return vmm().Map(Granules(0, count), handle(), offset, 0); });
    }
  }
}

CONFORMANCE_TEST(ReservedTest, MAP_12, RefusesMoreThanTheAllocation) {
  ExpectRefused(DriverCode::kNotSupported, reservation(),
                [&] { return vmm().Map(Granules(0, 5), handle()); });
  ExpectRefused(DriverCode::kNotSupported, reservation(), [&] {
    return vmm().Map({reservation().base, Bytes(0) - granule(), Bytes(0)}, handle());
  });
}

CONFORMANCE_TEST(ReservedTest, MAP_13, RefusesFlags) {
  for (const uint64_t flags : {uint64_t{1}, uint64_t{2}, uint64_t{1} << 63}) {
    ExpectRefused(DriverCode::kInvalidValue, reservation(),
                  [&] { return vmm().Map(Granules(0, 4), handle(), Bytes(0), flags); });
  }
}

CONFORMANCE_TEST(ReservedTest, MAP_14, RefusesHandleZero) {
  ExpectRefused(DriverCode::kInvalidValue, reservation(),
                [&] { return vmm().Map(Granules(0, 4), AllocationHandle(0)); });
}

CONFORMANCE_TEST(MappedTest, MAP_15, TwoMappingsAreTheSameMemory) {
  const AddressRange alias = Granules(4, 4);
  ASSERT_THAT(MapGranted(alias, handle()), IsOk());
  ASSERT_THAT(Write(mapping(), 15), IsOk());
  ExpectHolds(alias, 15);
  ASSERT_THAT(Write(alias, 16), IsOk());
  ExpectHolds(mapping(), 16);
}

CONFORMANCE_TEST(ReservedTest, MAP_16, FillsAHoleExactly) {
  for (const uint64_t first : {0, 6, 2}) {
    const uint64_t count = first == 2 ? 4 : 2;
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle part,
                                 vmm().Create(count * granule(), properties()));
    ASSERT_THAT(vmm().Map(Granules(first, count), part), IsOk()) << "at granule " << first;
  }
  ASSERT_THAT(Grant(reservation(), Access::kReadWrite), IsOk());
  ASSERT_THAT(Write(reservation(), 17), IsOk());
  ExpectHolds(reservation(), 17);
}

CONFORMANCE_TEST(MappedTest, MAP_17, DataSurvivesTwentyRoundsOfRemapping) {
  ASSERT_THAT(Write(mapping(), 18), IsOk());
  for (uint64_t round = 0; round < 20; ++round) {
    ASSERT_THAT(vmm().Unmap(Granules(round % 2 * 4, 4)), IsOk());
    const AddressRange next = Granules((round + 1) % 2 * 4, 4);
    ASSERT_THAT(vmm().Map(next, handle()), IsOk());
    ASSERT_THAT(Grant(next, Access::kRead), IsOk());
    ExpectHolds(next.subrange(Bytes(0), KiB(64)), 18);
  }
  ExpectHolds(mapping(), 18);
}

CONFORMANCE_TEST(MappedTest, MAP_18, EachAllocationKeepsItsData) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle other,
                               vmm().Create(allocation_size(), properties()));
  ASSERT_THAT(Write(mapping(), 20), IsOk());
  uint32_t seed = 20;
  for (const AllocationHandle next : {other, handle(), other}) {
    ASSERT_THAT(vmm().Unmap(mapping()), IsOk());
    ASSERT_THAT(MapGranted(mapping(), next), IsOk());
    if (seed == 20) {
      ASSERT_THAT(Write(mapping(), 21), IsOk());
    }
    ExpectHolds(mapping(), next == other ? 21 : 20);
    ++seed;
  }
}

CONFORMANCE_TEST(ReservedTest, MAP_19, LeavesTheRestEmpty) {
  ASSERT_THAT(vmm().Map(Granules(2, 4), handle()), IsOk());
  ExpectUnmapped(Granules(0, 2));
  ExpectUnmapped(Granules(6, 2));
}

CONFORMANCE_TEST(MappedTest, MAP_21, ArgumentsBeforePartsBeforePlace) {
  const AddressRange free = Granules(4, 4);
  const AddressRange nowhere{DeviceAddress(0), free.size, Bytes(0)};
  ExpectRefused(DriverCode::kInvalidValue, reservation(),
                [&] { return vmm().Map(free, handle(), granule(), 1); });
  ExpectRefused(DriverCode::kInvalidValue, reservation(),
                [&] { return vmm().Map(free, AllocationHandle(0), granule(), 0); });
  ExpectRefused(DriverCode::kInvalidValue, reservation(),
                [&] { return vmm().Map(Granules(4, 0), handle(), granule(), 0); });
  ExpectRefused(DriverCode::kInvalidValue, reservation(),
                [&] { return vmm().Map(nowhere, handle(), granule(), 0); });
  const AddressRange misaligned{free.base + Bytes(1), free.size, Bytes(0)};
  const AddressRange unreserved{free.base + TiB(1), free.size, Bytes(0)};
  for (const AddressRange& range : {misaligned, unreserved, mapping()}) {
    ExpectRefused(DriverCode::kNotSupported, reservation(),
                  [&] { return vmm().Map(range, handle(), granule(), 0); });
  }
}

CONFORMANCE_TEST(ReservedTest, MAP_22, RefusesATilePool) {
  AllocationProperties tiles;
  tiles.usage = kUsageTilePool;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle pool, vmm().Create(2 * granule(), tiles));
  for (const uint64_t granules : {2, 1, 4}) {
    ExpectRefused(DriverCode::kInvalidValue, reservation(),
                  [&] { return vmm().Map(Granules(0, granules), pool); });
  }
}

CONFORMANCE_TEST(ReservedTest, MAP_23, MapsRdmaMemoryAfterItsFirstMapping) {
  AllocationProperties rdma;
  rdma.gpu_direct_rdma = 1;
  const auto handle = vmm().Create(2 * granule(), rdma);
  if (!IsCreatedAsTold(DeviceAttribute::kGpuDirectRdmaWithCudaVmmSupported, handle.status())) {
    return;
  }
  const AddressRange first = Granules(0, 2);
  const AddressRange second = Granules(2, 2);
  const AddressRange third = Granules(4, 2);
  ASSERT_THAT(vmm().Map(first, *handle), IsOk());
  ASSERT_THAT(vmm().Map(second, *handle), IsOk());
  ASSERT_THAT(vmm().Unmap(first), IsOk());
  ASSERT_THAT(Grant(second, Access::kReadWrite), IsOk());
  if (Deviates(Deviation::kRdmaMemoryHangsOnItsFirstMapping)) {
    ExpectRefused(DriverCode::kUnknown, reservation(), [&] { return vmm().Map(third, *handle); });
    ASSERT_THAT(Grant(second, Access::kNone), IsOk());
  }
  EXPECT_THAT(vmm().Map(third, *handle), IsOk());
  EXPECT_THAT(vmm().RetainAllocationHandle(third.base), IsOkAndHolds(*handle));
  ASSERT_THAT(Grant(second, Access::kReadWrite), IsOk());
  EXPECT_THAT(vmm().Map(first, *handle), IsOk()) << "it hangs on the third by now";
}

CONFORMANCE_TEST(AdjacentTest, MAP_20, RefusesToCrossTheBorder) {
  if (Deviates(Deviation::kMapCrossesReservations)) {
    ASSERT_THAT(MapGranted(across(), handle()), IsOk());
    ASSERT_THAT(Write(across(), 20), IsOk());
    ExpectHolds(across(), 20);
    ExpectUnmapped(both().subrange(Bytes(0), 2 * granule()));
    ExpectUnmapped(both().subrange(6 * granule(), 2 * granule()));
  } else {
    ExpectRefused(DriverCode::kInvalidValue, both(), [&] { return vmm().Map(across(), handle()); });
  }
}

}  // namespace twinmmu::conformance
