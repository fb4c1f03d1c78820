// Devices and granularities of a machine.

#include "api/testing/every_call.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using DevicesTest = MachineTest;
constexpr auto kNoDevice = DriverCode::kInvalidDevice;

// The reference machine describes itself as the reference driver does.
TEST_F(DevicesTest, DescribeTheReference) {
  EXPECT_THAT(vmm().GetDriverVersion(), IsOkAndHolds(13000));
  EXPECT_THAT(vmm().GetDeviceCount(), IsOkAndHolds(2));
  EXPECT_THAT(vmm().GetDeviceName(kDevice1), IsOkAndHolds("NVIDIA H200"));
  EXPECT_THAT(vmm().GetDeviceAttribute(DeviceAttribute::kComputeCapabilityMajor, kDevice0),
              IsOkAndHolds(9));
  EXPECT_EQ(vmm().GetMemoryInfo(kDevice0)->total, Bytes(150109880320));
  EXPECT_EQ(vmm().GetMemoryInfo(kDevice0)->free, Bytes(149557477376));
}

// Every attribute that has a name has a value.
TEST_F(DevicesTest, KnowAllNamedAttributes) {
  for (const DeviceAttribute attribute : AllDeviceAttributes()) {
    EXPECT_THAT(vmm().GetDeviceAttribute(attribute, kDevice0), IsOk()) << attribute;
  }
}

// A device that does not exist is found before an attribute that does not.
TEST_F(DevicesTest, FindAMissingDeviceFirst) {
  const auto unknown = static_cast<DeviceAttribute>(9999);
  for (const DeviceOrdinal device : {DeviceOrdinal(-1), DeviceOrdinal(2)}) {
    EXPECT_THAT(vmm().GetDeviceAttribute(unknown, device), HasDriverCode(kNoDevice));
    EXPECT_THAT(vmm().GetDeviceName(device), HasDriverCode(kNoDevice));
    EXPECT_THAT(vmm().GetMemoryInfo(device), HasDriverCode(kNoDevice));
    EXPECT_THAT(vmm().CanAccessPeer(kDevice0, device), HasDriverCode(kNoDevice));
    EXPECT_THAT(vmm().CanAccessPeer(device, kDevice0), HasDriverCode(kNoDevice));
  }
  EXPECT_THAT(vmm().GetDeviceAttribute(unknown, kDevice0),
              HasDriverCode(DriverCode::kInvalidValue));
}

// A device is a peer of the other and not of itself.
TEST_F(DevicesTest, ArePeersOfEachOther) {
  EXPECT_THAT(vmm().CanAccessPeer(kDevice0, kDevice1), IsOkAndHolds(true));
  EXPECT_THAT(vmm().CanAccessPeer(kDevice0, kDevice0), IsOkAndHolds(false));
}

// All granularities may differ: each call keeps to its own.
TEST(GranularityTest, MayAllDiffer) {
  Profile profile = Profile::ReferenceH200();
  profile.minimum_granularity = MiB(2);
  profile.recommended_granularity = MiB(8);
  profile.reservation_granularity = KiB(64);
  const auto simulator = *Simulator::Create(profile);
  Vmm& vmm = **simulator->vmm();
  EXPECT_THAT(vmm.GetAllocationGranularity({}, Granularity::kRecommended), IsOkAndHolds(MiB(8)));
  const auto odd = vmm.AddressReserve(KiB(64));
  ASSERT_THAT(odd, IsOk());
  const auto range = vmm.AddressReserve(MiB(4), {MiB(2), DeviceAddress(0), 0});
  ASSERT_THAT(range, IsOk());
  EXPECT_THAT(vmm.Create(KiB(64), {}), HasDriverCode(DriverCode::kInvalidValue));
  const AllocationHandle handle = *vmm.Create(MiB(2), {});
  EXPECT_THAT(vmm.Map(At(range->base + KiB(64), MiB(2)), handle),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(vmm.Map(At(range->base, MiB(2)), handle), IsOk());
}

// A device without a capability refuses what rests on it, and the other device does not.
TEST(CapabilityTest, IsThatOfTheDevice) {
  Profile profile = Profile::ReferenceH200(2);
  auto& attributes = profile.devices[1].attributes;
  attributes[DeviceAttribute::kHandleTypePosixFileDescriptorSupported] = 0;
  attributes[DeviceAttribute::kGenericCompressionSupported] = 0;
  const auto simulator = *Simulator::Create(profile);
  Vmm& vmm = **simulator->vmm();
  AllocationProperties properties = Shareable();
  EXPECT_THAT(vmm.Create(kGranule, properties), IsOk());
  properties.location = Location::Device(kDevice1);
  EXPECT_THAT(vmm.Create(kGranule, properties), HasDriverCode(DriverCode::kNotSupported));
  properties.requested_handle_types = HandleType::kNone;
  properties.compression = CompressionType::kGeneric;
  const auto handle = vmm.Create(kGranule, properties);
  ASSERT_THAT(handle, IsOk());
  EXPECT_EQ(vmm.GetAllocationProperties(*handle)->compression, CompressionType::kNone);
}

// One device of two has virtual memory management: the other has no memory for it, and no access.
TEST(CapabilityTest, VmmOfOneDevice) {
  Profile profile = Profile::ReferenceH200(2);
  profile.devices[1].attributes[DeviceAttribute::kVirtualMemoryManagementSupported] = 0;
  const auto simulator = *Simulator::Create(profile);
  Vmm& vmm = **simulator->vmm();
  EXPECT_THAT(vmm.Create(kGranule, On(Location::Device(kDevice1))),
              HasDriverCode(DriverCode::kNotSupported));
  const AddressRange range = *vmm.AddressReserve(kGranule);
  EXPECT_THAT(vmm.Map(range, *vmm.Create(kGranule, {})), IsOk());
  EXPECT_THAT(vmm.SetAccess(range, std::array{For(kDevice1, Access::kRead)}),
              HasDriverCode(DriverCode::kNotSupported));
  EXPECT_THAT(vmm.SetAccess(range, std::array{For(kDevice0, Access::kRead)}), IsOk());
}

// An older driver has what its header has: memory of a node of the host before it can tell of it,
// that of the host without a node with the capability, and before both there is no such location.
TEST(CapabilityTest, AnOlderDriverKnowsFewerLocations) {
  for (const auto& [name, node, host] :
       {std::tuple("driver-12.0", DriverCode::kInvalidValue, DriverCode::kInvalidValue),
        std::tuple("driver-12.4", DriverCode::kSuccess, DriverCode::kInvalidValue),
        std::tuple("driver-13.0", DriverCode::kSuccess, DriverCode::kSuccess)}) {
    SCOPED_TRACE(name);
    const auto simulator = *Simulator::Create(*Profile::Named(name));
    Vmm& vmm = **simulator->vmm();
    EXPECT_THAT(vmm.Create(kGranule, On(Location::HostNuma(0))), HasDriverCode(node));
    EXPECT_THAT(vmm.Create(kGranule, On(Location::Host())), HasDriverCode(host));
  }
}

// Memory for GPUDirect RDMA is refused by a device that does not have that.
TEST(CapabilityTest, RdmaNeedsTheCapability) {
  const auto simulator = *Simulator::Create(*Profile::Named("driver-10.2"));
  AllocationProperties rdma;
  rdma.gpu_direct_rdma = 1;
  EXPECT_THAT((*simulator->vmm())->Create(kGranule, rdma),
              HasDriverCode(DriverCode::kNotSupported));
}

// Without virtual memory management its calls are NOT_SUPPORTED, and the others answer.
TEST(CapabilityTest, NoVmmAtAll) {
  const auto simulator = *Simulator::Create(*Profile::Named("no-vmm"));
  Vmm& vmm = **simulator->vmm();
  int refused = 0;
  for (const auto& [call, method, status] : testing_internal::MakeEveryCall(vmm)) {
    if (call < DriverCall::kAddressReserve || call > DriverCall::kImportShareableHandle) continue;
    ++refused;
    EXPECT_THAT(status, HasDriverCode(DriverCode::kNotSupported)) << method;
  }
  EXPECT_GT(refused, 0);
  EXPECT_THAT(vmm.GetDeviceCount(), IsOkAndHolds(2));
  EXPECT_THAT(vmm.GetMemoryInfo(kDevice1), IsOk());
}

}  // namespace
}  // namespace twinmmu
