// cuMemUnmap.

#include <vector>

#include "conformance/fixtures/adjacent_fixture.h"
#include "conformance/fixtures/child_checks.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

// In a reservation of 8 granules: 2 mapped, a hole of 2, 2 mapped, 2 free; further mappings at
// will.
class HoleTest : public ReservedTest {
 protected:
  void SetUp() override {
    ReservedTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_NO_FATAL_FAILURE(MapGranules(0));
    ASSERT_NO_FATAL_FAILURE(MapGranules(4));
  }
  void MapGranules(uint64_t first) {
    ASSERT_THAT(MapNew(Granules(first, 2)), IsOk());
    ASSERT_THAT(Grant(Granules(first, 2), Access::kReadWrite), IsOk());
  }
};

}  // namespace

CONFORMANCE_TEST(MappedTest, UNMAP_1, LeavesTheReservationEmpty) {
  ASSERT_THAT(vmm().Unmap(mapping()), IsOk());
  ExpectUnmapped(reservation());
  EXPECT_THAT(vmm().Map(mapping(), handle()), IsOk());
}

CONFORMANCE_TEST(MappedTest, UNMAP_2, RefusesAPartOfAMapping) {
  for (const AddressRange& part :
       {Granules(0, 2), Granules(1, 2), Granules(2, 2), Granules(3, 1), Granules(3, 5)}) {
    ExpectRefused(DriverCode::kInvalidValue, reservation(), [&] { return vmm().Unmap(part); });
  }
}

CONFORMANCE_TEST(HoleTest, UNMAP_3, UnmapsSeveralMappingsAtOnce) {
  ASSERT_NO_FATAL_FAILURE(MapGranules(2));
  ASSERT_THAT(vmm().Unmap(Granules(0, 6)), IsOk());
  ExpectUnmapped(reservation());
}

CONFORMANCE_TEST(HoleTest, UNMAP_4, LeavesTheNeighbours) {
  ASSERT_NO_FATAL_FAILURE(MapGranules(2));
  ASSERT_THAT(Write(Granules(0, 2), 1), IsOk());
  ASSERT_THAT(Write(Granules(4, 2), 2), IsOk());
  const auto before_left = StateOf(Granules(0, 2));
  const auto access_before = StateOf(Granules(4, 2));
  ASSERT_THAT(vmm().Unmap(Granules(2, 2)), IsOk());
  EXPECT_EQ(StateOf(Granules(0, 2)), before_left);
  EXPECT_EQ(StateOf(Granules(4, 2)), access_before);
  ExpectHolds(Granules(0, 2), 1);
  ExpectHolds(Granules(4, 2), 2);
}

CONFORMANCE_TEST(HoleTest, UNMAP_5, RefusesAWholeAndAPartTogether) {
  ASSERT_NO_FATAL_FAILURE(MapGranules(2));
  for (const AddressRange& range : {Granules(0, 3), Granules(1, 3), Granules(3, 3)}) {
    ExpectRefused(DriverCode::kInvalidValue, reservation(), [&] { return vmm().Unmap(range); });
  }
}

CONFORMANCE_TEST(MappedTest, UNMAP_6, RefusesSizeZero) {
  ExpectRefused(DriverCode::kInvalidValue, reservation(),
                [&] { return vmm().Unmap(Granules(0, 0)); });
}

CONFORMANCE_TEST(MappedTest, UNMAP_7, RefusesNullAndStrangers) {
  for (const DeviceAddress base : {DeviceAddress(0), reservation().base + TiB(1)}) {
    ExpectRefused(DriverCode::kInvalidValue, reservation(), [&] {
      return vmm().Unmap({base, allocation_size(), Bytes(0)});
    });
  }
}

CONFORMANCE_TEST(HoleTest, UNMAP_8, RefusesAHole) {
  for (const AddressRange& range : {Granules(0, 6), Granules(2, 4), Granules(0, 4)}) {
    SCOPED_TRACE(range);
    if (!Deviates(Deviation::kUnmapIgnoresHoles)) {
      ExpectRefused(DriverCode::kInvalidValue, reservation(), [&] { return vmm().Unmap(range); });
      continue;
    }
    ASSERT_THAT(vmm().Unmap(range), IsOk());
    ExpectUnmapped(range);
    for (const uint64_t first : {0, 4}) {
      if (range.contains(Granules(first, 2))) continue;
      EXPECT_THAT(vmm().GetAccess(here(), Granules(first, 2).base),
                  IsOkAndHolds(Access::kReadWrite));
    }
    for (const uint64_t first : {0, 4}) {
      if (!range.contains(Granules(first, 2))) continue;
      ASSERT_NO_FATAL_FAILURE(MapGranules(first));
    }
  }
}

CONFORMANCE_TEST(HoleTest, UNMAP_9, RefusesWhereNothingIsMapped) {
  const auto before = StateOf(reservation());
  const absl::Status status = vmm().Unmap(Granules(2, 2));
  if (Deviates(Deviation::kUnmapOfNothingSucceeds)) {
    EXPECT_THAT(status, IsOk());
  } else {
    EXPECT_THAT(status, HasDriverCode(DriverCode::kInvalidValue));
  }
  EXPECT_EQ(StateOf(reservation()), before);
  ExpectUnmapped(Granules(2, 2));
}

CONFORMANCE_TEST(HoleTest, UNMAP_10, RefusesASizeOneByteOff) {
  ASSERT_NO_FATAL_FAILURE(MapGranules(2));
  const Bytes size = 2 * granule();
  for (const Bytes wrong : {Bytes(1), size - Bytes(1), size + Bytes(1)}) {
    ExpectRefused(DriverCode::kInvalidValue, reservation(), [&] {
      return vmm().Unmap({reservation().base, wrong, Bytes(0)});
    });
  }
  ExpectRefused(DriverCode::kInvalidValue, reservation(), [&] {
    return vmm().Unmap({reservation().base + Bytes(1), size, Bytes(0)});
  });
}

CONFORMANCE_TEST(HoleTest, UNMAP_11, RefusesToReachBeyondTheReservation) {
  const AddressRange beyond = Granules(4, 6);
  if (Deviates(Deviation::kUnmapReachesBeyondTheReservation)) {
    // Only where no other mapping can be hit: the two granules behind are reserved or nobody's.
    ASSERT_THAT(vmm().Unmap(beyond), IsOk());
    ExpectUnmapped(Granules(4, 4));
    EXPECT_THAT(vmm().RetainAllocationHandle(reservation().base), IsOk());
  } else {
    ExpectRefused(DriverCode::kInvalidValue, reservation(), [&] { return vmm().Unmap(beyond); });
  }
}

CONFORMANCE_TEST(MappedTest, UNMAP_12, RefusesARangeThatWraps) {
  ASSERT_THAT(Write(mapping(), 12), IsOk());
  const auto before = StateOf(reservation());
  for (const Bytes size : {Bytes(0) - granule(), Bytes(0) - Bytes(mapping().base.value())}) {
    const absl::Status status = vmm().Unmap({mapping().base, size, Bytes(0)});
    if (Deviates(Deviation::kUnmapOfAWrappedRangeSucceeds)) {
      EXPECT_THAT(status, IsOk()) << size;
    } else {
      EXPECT_THAT(status, HasDriverCode(DriverCode::kInvalidValue)) << size;
    }
    EXPECT_EQ(StateOf(reservation()), before);
  }
  // The base, or the end, is inside the mapping.
  const DeviceAddress inside = mapping().base + granule();
  for (const AddressRange& cuts :
       {AddressRange{inside, Bytes(0) - granule(), Bytes(0)},
        AddressRange{mapping().end(), inside - mapping().end(), Bytes(0)}}) {
    ExpectRefused(DriverCode::kInvalidValue, reservation(), [&] { return vmm().Unmap(cuts); });
  }
  ExpectHolds(mapping(), 12);
}

CONFORMANCE_TEST(ConformanceTest, UNMAP_13, MappingsNearAndFarGoOneByOne) {
  // Neighbours, and granules that share less and less of a page table.
  const std::vector<uint64_t> places = {0, 1, 255, 256, 511, 512, 513, 8191, 8192, 16384, 32767};
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange space, vmm().AddressReserve(32768 * granule()));
  const auto at = [&](uint64_t place) { return space.subrange(place * granule(), granule()); };
  for (const uint64_t place : places) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle own, vmm().Create(granule(), properties()));
    ASSERT_THAT(vmm().Map(at(place), own), IsOk()) << place;
    ASSERT_THAT(Grant(at(place), Access::kReadWrite), IsOk());
    ASSERT_THAT(Write(at(place).subrange(Bytes(0), KiB(4)), static_cast<uint32_t>(place)), IsOk());
  }
  for (size_t gone = 0; gone < places.size(); ++gone) {
    ASSERT_THAT(vmm().Unmap(at(places[gone])), IsOk()) << places[gone];
    ExpectUnmapped(at(places[gone]));
    for (size_t kept = gone + 1; kept < places.size(); ++kept) {
      ExpectHolds(at(places[kept]).subrange(Bytes(0), KiB(4)), static_cast<uint32_t>(places[kept]));
    }
  }
}

CONFORMANCE_TEST(MappedTest, UNMAP_15, RefusesTheLastAddress) {
  const DeviceAddress last(~uint64_t{0});
  const bool takes_all = Deviates(Deviation::kUnmapOfTheLastAddressTakesAllBelow);
  for (const bool unmaps : {true, false}) {
    const DeviceAddress end = unmaps ? mapping().end() : mapping().base;
    // In a child, because all that the process has mapped may go.
    ExpectInChild([&](ChildChecks& checks) {
      checks.Expect("unmap", vmm().Unmap({last, end - last, Bytes(0)}),
                    takes_all ? DriverCode::kSuccess : DriverCode::kInvalidValue);
      checks.Expect("mapped", vmm().RetainAllocationHandle(mapping().base).status(),
                    takes_all && unmaps ? DriverCode::kInvalidValue : DriverCode::kSuccess);
    });
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

}  // namespace twinmmu::conformance
