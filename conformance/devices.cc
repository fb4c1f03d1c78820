// Devices, their attributes and their memory.

#include "conformance/registry.h"

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

CONFORMANCE_TEST(DeviceTest, INFO_1, HasMemory) {
  for (int i = 0; i < device_count(); ++i) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo info, vmm().GetMemoryInfo(DeviceOrdinal(i)));
    EXPECT_GT(info.total, Bytes(0));
    EXPECT_LE(info.free, info.total);
  }
}

CONFORMANCE_TEST(ConformanceTest, INFO_2, CreateTakesItsSizeAndReleaseGivesItBack) {
  const Bytes size = 64 * granule();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo before, vmm().GetMemoryInfo(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle, vmm().Create(size, properties()));
  ExpectFree(device(), before.free - size);
  ASSERT_THAT(vmm().Release(handle), IsOk());
  ExpectFree(device(), before.free);
}

CONFORMANCE_TEST(ConformanceTest, INFO_3, MappingTakesNoMemory) {
  const Bytes size = 4 * granule();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo at_first, vmm().GetMemoryInfo(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle, vmm().Create(size, properties()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo before, vmm().GetMemoryInfo(device()));
  EXPECT_EQ(at_first.free - before.free, size) << "what takes memory must be seen to take it";
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, vmm().AddressReserve(size));
  ASSERT_THAT(vmm().Map(range, handle), IsOk());
  ASSERT_THAT(Grant(range, Access::kReadWrite), IsOk());
  ExpectFree(device(), before.free);
}

CONFORMANCE_TEST(ConformanceTest, INFO_4, MemoryComesBackAtTheLastOfUnmapAndRelease) {
  const Bytes size = 64 * granule();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, vmm().AddressReserve(size));
  for (const bool release_first : {true, false}) {
    SCOPED_TRACE(release_first ? "release, then unmap" : "unmap, then release");
    TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo before, vmm().GetMemoryInfo(device()));
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle, vmm().Create(size, properties()));
    ASSERT_THAT(vmm().Map(range, handle), IsOk());
    ASSERT_THAT(release_first ? vmm().Release(handle) : vmm().Unmap(range), IsOk());
    ExpectFree(device(), before.free - size);
    ASSERT_THAT(release_first ? vmm().Unmap(range) : vmm().Release(handle), IsOk());
    ExpectFree(device(), before.free);
  }
}

}  // namespace twinmmu::conformance
