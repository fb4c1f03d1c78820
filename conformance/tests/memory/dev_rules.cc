// Devices and their attributes.

#include "conformance/fixtures/fixtures.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::Le;

constexpr DeviceOrdinal kNoDevice(9999);

}  // namespace

CONFORMANCE_TEST(DeviceTest, DEV_1, TellsVersionAndCount) {
  EXPECT_THAT(vmm().GetDriverVersion(), IsOkAndHolds(Gt(1000)));
  EXPECT_THAT(vmm().GetDeviceCount(), IsOkAndHolds(Gt(0)));
  EXPECT_THAT(vmm().GetDeviceName(device()), IsOkAndHolds(::testing::Not(::testing::IsEmpty())));
}

CONFORMANCE_TEST(DeviceTest, DEV_2, RefusesAnUnknownDevice) {
  for (const DeviceOrdinal bad : {kNoDevice, DeviceOrdinal(-1), DeviceOrdinal(device_count())}) {
    SCOPED_TRACE(bad);
    EXPECT_THAT(vmm().GetDeviceName(bad), HasDriverCode(DriverCode::kInvalidDevice));
    EXPECT_THAT(vmm().GetDeviceAttribute(DeviceAttribute::kUnifiedAddressing, bad),
                HasDriverCode(DriverCode::kInvalidDevice));
    EXPECT_THAT(vmm().GetMemoryInfo(bad), HasDriverCode(DriverCode::kInvalidDevice));
    EXPECT_THAT(vmm().CanAccessPeer(device(), bad), HasDriverCode(DriverCode::kInvalidDevice));
    EXPECT_THAT(vmm().CanAccessPeer(bad, device()), HasDriverCode(DriverCode::kInvalidDevice));
  }
}

CONFORMANCE_TEST(DeviceTest, DEV_3, RefusesAnUnknownAttribute) {
  for (const int number : {0, -1, 9999}) {
    EXPECT_THAT(vmm().GetDeviceAttribute(static_cast<DeviceAttribute>(number), device()),
                HasDriverCode(DriverCode::kInvalidValue))
        << number;
  }
}

CONFORMANCE_TEST(ConformanceTest, DEV_4, SupportsVirtualMemoryManagement) {
  for (int i = 0; i < device_count(); ++i) {
    EXPECT_THAT(vmm().GetDeviceAttribute(DeviceAttribute::kVirtualMemoryManagementSupported,
                                         DeviceOrdinal(i)),
                IsOkAndHolds(1));
  }
}

CONFORMANCE_TEST(DeviceTest, DEV_5, IsNotItsOwnPeer) {
  EXPECT_THAT(vmm().CanAccessPeer(device(), device()), IsOkAndHolds(false));
}

CONFORMANCE_TEST(DeviceTest, DEV_6, AnswersWhatConcernsVirtualMemory) {
  constexpr int kKnowsAll = 13000;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const int version, vmm().GetDriverVersion());
  for (const DeviceAttribute attribute : AllDeviceAttributes()) {
    const auto value = vmm().GetDeviceAttribute(attribute, device());
    const DriverCode code =
        version < kKnowsAll && !value.ok() ? DriverCode::kInvalidValue : DriverCode::kSuccess;
    EXPECT_THAT(value, HasDriverCode(code)) << attribute;
  }
}

}  // namespace twinmmu::conformance
