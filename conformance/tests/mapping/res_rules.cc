// cuMemAddressReserve.

#include <set>
#include <vector>

#include "conformance/fixtures/fixtures.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

ReserveOptions Aligned(Bytes alignment) {
  ReserveOptions options;
  options.alignment = alignment;
  return options;
}

}  // namespace

CONFORMANCE_TEST(ConformanceTest, RES_1, ReservesAnyMultipleOfTheGranularity) {
  for (const uint64_t granules : {1, 2, 3, 7, 64, 513}) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range,
                                 vmm().AddressReserve(granules * granule()));
    EXPECT_NE(range.base, DeviceAddress(0));
    EXPECT_TRUE(range.base.IsAligned(granule())) << range;
    EXPECT_EQ(range.size, granules * granule());
    ExpectUnmapped(range);
  }
}

CONFORMANCE_TEST(ConformanceTest, RES_2, ReservationsAreDisjoint) {
  std::vector<AddressRange> ranges;
  for (uint64_t i = 0; i < 16; ++i) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range,
                                 vmm().AddressReserve((i % 5 + 1) * granule()));
    for (const AddressRange& other : ranges) EXPECT_FALSE(range.overlaps(other));
    ranges.push_back(range);
  }
}

CONFORMANCE_TEST(ConformanceTest, RES_3, RefusesSizeZero) {
  EXPECT_THAT(vmm().AddressReserve(Bytes(0)), HasDriverCode(DriverCode::kInvalidValue));
}

CONFORMANCE_TEST(ConformanceTest, RES_4, RefusesASizeThatIsNotAMultiple) {
  for (const Bytes size :
       {Bytes(1), granule() - Bytes(1), granule() + Bytes(1), Bytes(~uint64_t{0})}) {
    EXPECT_THAT(vmm().AddressReserve(size), HasDriverCode(DriverCode::kInvalidValue)) << size;
  }
}

CONFORMANCE_TEST(ConformanceTest, RES_5, ReservesOneHostPage) {
  const auto range = vmm().AddressReserve(KiB(4));
  if (Deviates(Deviation::kReserveTakesOnlyGranules)) {
    EXPECT_THAT(range, HasDriverCode(DriverCode::kInvalidValue));
  } else {
    EXPECT_THAT(range, IsOk());
  }
}

CONFORMANCE_TEST(ConformanceTest, RES_6, HonoursAnAlignment) {
  for (const Bytes alignment : {Bytes(1), KiB(4), granule(), 2 * granule(), GiB(1), GiB(64)}) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range,
                                 vmm().AddressReserve(granule(), Aligned(alignment)));
    EXPECT_TRUE(range.base.IsAligned(alignment)) << range;
    EXPECT_TRUE(range.base.IsAligned(granule())) << range;
  }
}

CONFORMANCE_TEST(ConformanceTest, RES_7, RefusesAnAlignmentThatIsNotAPowerOfTwo) {
  for (const Bytes alignment : {Bytes(3), 3 * granule(), granule() + Bytes(1)}) {
    EXPECT_THAT(vmm().AddressReserve(granule(), Aligned(alignment)),
                HasDriverCode(DriverCode::kInvalidValue))
        << alignment;
  }
}

CONFORMANCE_TEST(ConformanceTest, RES_8, RefusesFlags) {
  for (const uint64_t flags : {uint64_t{1}, uint64_t{2}, uint64_t{1} << 63}) {
    ReserveOptions options;
    options.flags = flags;
    EXPECT_THAT(vmm().AddressReserve(granule(), options), HasDriverCode(DriverCode::kInvalidValue));
  }
}

CONFORMANCE_TEST(ConformanceTest, RES_9, ReservesAFreedAddressAgain) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange first, vmm().AddressReserve(4 * granule()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange second, vmm().AddressReserve(4 * granule()));
  ASSERT_THAT(vmm().AddressFree(first), IsOk());
  ASSERT_THAT(vmm().AddressFree(second), IsOk());
  // Whichever place is taken without a hint, it is the wrong one for one of these.
  for (const AddressRange& freed : {second, first}) {
    EXPECT_THAT(vmm().AddressReserve(freed.size, Hint(freed.base)), IsOkAndHolds(freed));
  }
}

CONFORMANCE_TEST(ConformanceTest, RES_10, ATakenHintGivesAnotherPlace) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange taken, vmm().AddressReserve(4 * granule()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange other,
                               vmm().AddressReserve(taken.size, Hint(taken.base)));
  EXPECT_FALSE(other.overlaps(taken));
}

CONFORMANCE_TEST(PhysicalTest, RES_11, AReservationBehindAnotherIsFreedApart) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange first, vmm().AddressReserve(allocation_size()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange second,
                               vmm().AddressReserve(allocation_size(), Hint(first.end())));
  EXPECT_FALSE(second.overlaps(first));
  EXPECT_THAT(vmm().AddressFree(first), IsOk());
  EXPECT_THAT(vmm().Map(first, handle()), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(vmm().Map(second, handle()), IsOk());
  EXPECT_THAT(vmm().Unmap(second), IsOk());
  EXPECT_THAT(vmm().AddressFree(second), IsOk());
}

CONFORMANCE_TEST(ConformanceTest, RES_12, AMisalignedHintIsOnlyAHint) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, vmm().AddressReserve(8 * granule()));
  ASSERT_THAT(vmm().AddressFree(range), IsOk());
  const auto hinted = vmm().AddressReserve(granule(), Hint(range.base + granule() / 2));
  if (Deviates(Deviation::kMisalignedHintIsRefused)) {
    EXPECT_THAT(hinted, HasDriverCode(DriverCode::kInvalidValue));
  } else {
    ASSERT_THAT(hinted, IsOk());
    EXPECT_TRUE(hinted->base.IsAligned(granule()));
  }
}

CONFORMANCE_TEST(ConformanceTest, RES_13, MoreThanTheAddressSpaceIsOutOfMemory) {
  for (const int bit : {56, 63}) {
    EXPECT_THAT(vmm().AddressReserve(Bytes(uint64_t{1} << bit)),
                HasDriverCode(DriverCode::kOutOfMemory));
  }
}

CONFORMANCE_TEST(ConformanceTest, RES_14, ReservesFarMoreThanThereIsMemory) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo info, vmm().GetMemoryInfo(device()));
  EXPECT_THAT(vmm().AddressReserve(RoundUp(2 * info.total, granule())), IsOk());
}

CONFORMANCE_TEST(ConformanceTest, RES_15, AHintBeyondTheAddressSpaceIsOnlyAHint) {
  for (const int bit : {48, 56}) {
    const auto range = vmm().AddressReserve(granule(), Hint(DeviceAddress(uint64_t{1} << bit)));
    if (Deviates(Deviation::kHintBeyondTheAddressSpaceIsOutOfMemory)) {
      EXPECT_THAT(range, HasDriverCode(DriverCode::kOutOfMemory));
    } else {
      EXPECT_THAT(range, IsOk());
    }
  }
}

CONFORMANCE_TEST(ConformanceTest, RES_16, ReservesAnySizeOrHasNoRoom) {
  bool fits = true;
  for (int bit = 30; bit <= 56; ++bit) {
    const Bytes size(uint64_t{1} << bit);
    const auto range = vmm().AddressReserve(size);
    if (!range.ok()) {
      EXPECT_THAT(range, HasDriverCode(DriverCode::kOutOfMemory)) << size;
      fits = false;
      continue;
    }
    EXPECT_TRUE(fits) << size << " has room, and less had none";
    EXPECT_EQ(range->size, size);
    ASSERT_THAT(vmm().AddressFree(*range), IsOk());
  }
}

CONFORMANCE_TEST(ConformanceTest, RES_17, ManySmallOnesAreDisjoint) {
  std::set<DeviceAddress> taken;
  const auto reserve = [&](int count) {
    for (int i = 0; i < count; ++i) {
      TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, vmm().AddressReserve(granule()));
      ASSERT_TRUE(range.base.IsAligned(granule()));
      ASSERT_TRUE(taken.insert(range.base).second) << range << " is given out twice";
    }
  };
  ASSERT_NO_FATAL_FAILURE(reserve(1000));
  for (auto next = taken.begin(); next != taken.end();) {
    ASSERT_THAT(vmm().AddressFree({*next, granule(), Bytes(0)}), IsOk());
    next = taken.erase(next);
    if (next != taken.end()) ++next;
  }
  ASSERT_NO_FATAL_FAILURE(reserve(500));
}

CONFORMANCE_TEST(ConformanceTest, RES_18, ArgumentsBeforeRoom) {
  const Bytes no_room(uint64_t{1} << 56);
  ReserveOptions flags;
  flags.flags = 1;
  for (const ReserveOptions& bad : {flags, Aligned(Bytes(3))}) {
    EXPECT_THAT(vmm().AddressReserve(no_room, bad), HasDriverCode(DriverCode::kInvalidValue));
    ReserveOptions with_hint = bad;
    with_hint.hint = DeviceAddress(uint64_t{1} << 56);
    EXPECT_THAT(vmm().AddressReserve(granule(), with_hint),
                HasDriverCode(DriverCode::kInvalidValue));
  }
  EXPECT_THAT(vmm().AddressReserve(Bytes(1), Hint(DeviceAddress(uint64_t{1} << 56))),
              HasDriverCode(DriverCode::kInvalidValue));
}

}  // namespace twinmmu::conformance
