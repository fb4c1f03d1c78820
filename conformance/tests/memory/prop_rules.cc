// cuMemGetAllocationPropertiesFromHandle.

#include "conformance/fixtures/fixtures.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {

CONFORMANCE_TEST(ConformanceTest, PROP_1, PropertiesReadBack) {
  for (int i = 0; i < device_count(); ++i) {
    for (const HandleType types : {HandleType::kNone, HandleType::kPosixFileDescriptor}) {
      AllocationProperties asked = properties(Location::Device(DeviceOrdinal(i)));
      asked.requested_handle_types = types;
      TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle, vmm().Create(granule(), asked));
      EXPECT_THAT(vmm().GetAllocationProperties(handle), IsOkAndHolds(asked));
    }
  }
}

CONFORMANCE_TEST(ConformanceTest, PROP_2, RefusesHandleZero) {
  EXPECT_THAT(vmm().GetAllocationProperties(AllocationHandle(0)),
              HasDriverCode(DriverCode::kInvalidValue));
}

}  // namespace twinmmu::conformance
