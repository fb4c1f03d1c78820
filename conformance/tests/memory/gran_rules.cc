// cuMemGetAllocationGranularity.

#include "conformance/fixtures/fixtures.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {

CONFORMANCE_TEST(ConformanceTest, GRAN_1, MinimumIsAPowerOfTwo) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Bytes minimum,
                               vmm().GetAllocationGranularity(properties(), Granularity::kMinimum));
  EXPECT_TRUE(IsPowerOfTwo(minimum)) << minimum;
}

CONFORMANCE_TEST(ConformanceTest, GRAN_2, RecommendedIsAMultipleOfTheMinimum) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const Bytes recommended,
      vmm().GetAllocationGranularity(properties(), Granularity::kRecommended));
  EXPECT_GE(recommended, granule());
  EXPECT_EQ(recommended % granule(), Bytes(0));
}

CONFORMANCE_TEST(ConformanceTest, GRAN_3, RefusesAnUnknownOption) {
  for (const uint32_t option : {2u, 77u}) {
    EXPECT_THAT(vmm().GetAllocationGranularity(properties(), static_cast<Granularity>(option)),
                HasDriverCode(DriverCode::kInvalidValue));
  }
}

CONFORMANCE_TEST(ConformanceTest, GRAN_4, EveryDeviceAndTheHostHaveOne) {
  for (int i = 0; i < device_count(); ++i) {
    const AllocationProperties there = properties(Location::Device(DeviceOrdinal(i)));
    TWINMMU_ASSERT_OK_AND_ASSIGN(const Bytes minimum,
                                 vmm().GetAllocationGranularity(there, Granularity::kMinimum));
    EXPECT_THAT(vmm().Create(minimum, there), IsOk());
  }
  for (const Location& host : {Location::Host(), Location::HostNuma(0)}) {
    EXPECT_THAT(vmm().GetAllocationGranularity(properties(host), Granularity::kMinimum),
                IsOkAndHolds(::testing::Gt(Bytes(0))));
  }
}

CONFORMANCE_TEST(ConformanceTest, GRAN_5, RefusesAnUnknownLocation) {
  const Location unknown{static_cast<LocationType>(99), 0};
  const auto granularity =
      vmm().GetAllocationGranularity(properties(unknown), Granularity::kMinimum);
  if (Deviates(Deviation::kGranularityOfAnyLocation)) {
    EXPECT_THAT(granularity, IsOkAndHolds(granule()));
  } else {
    EXPECT_THAT(granularity, HasDriverCode(DriverCode::kInvalidValue));
  }
}

}  // namespace twinmmu::conformance
