// GetAllocationGranularity, Create, Release, RetainAllocationHandle, GetAllocationProperties.

#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using PhysicalTest = MachineTest;
constexpr auto kInvalid = DriverCode::kInvalidValue;

AllocationProperties WithTypes(uint32_t types) {
  AllocationProperties properties;
  properties.requested_handle_types = static_cast<HandleType>(types);
  return properties;
}

// The granularity is answered for impossible properties too; only the option is looked at.
TEST_F(PhysicalTest, GranularityIgnoresProperties) {
  AllocationProperties impossible = On(Location{static_cast<LocationType>(99), -1});
  EXPECT_THAT(vmm().GetAllocationGranularity(impossible, Granularity::kMinimum),
              IsOkAndHolds(kGranule));
  EXPECT_THAT(vmm().GetAllocationGranularity({}, static_cast<Granularity>(2)),
              HasDriverCode(kInvalid));
}

// A size of 0 or not a multiple, flags, types and locations that do not exist are invalid.
TEST_F(PhysicalTest, CreateRefusesWrongArguments) {
  AllocationProperties managed;
  managed.type = AllocationType::kManaged;
  AllocationProperties compressed;
  compressed.compression = static_cast<CompressionType>(9);
  AllocationProperties host_compressed = On(Location::HostNuma(0));
  host_compressed.compression = CompressionType::kGeneric;
  AllocationProperties host_shared = Shareable();
  host_shared.location = Location::Host();
  EXPECT_THAT(vmm().Create(Bytes(0), {}), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Create(kGranule - Bytes(1), {}), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Create(kGranule, {}, 1), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Create(kGranule, managed), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Create(kGranule, compressed), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Create(kGranule, host_compressed), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Create(kGranule, host_shared), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Create(kGranule, WithTypes(2)), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Create(kGranule, On(Location::HostNumaCurrent())), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Create(kGranule, On(Location::HostNuma(7))), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Create(kGranule, On(Location::Device(DeviceOrdinal(2)))),
              HasDriverCode(DriverCode::kInvalidDevice));
}

// Of two mistakes: size before device, device before type, capacity before permission.
TEST_F(PhysicalTest, CreateReportsTheFirstMistake) {
  AllocationProperties no_device = On(Location::Device(DeviceOrdinal(99)));
  EXPECT_THAT(vmm().Create(Bytes(1), no_device), HasDriverCode(kInvalid));
  no_device.type = AllocationType::kInvalid;
  EXPECT_THAT(vmm().Create(kGranule, no_device), HasDriverCode(DriverCode::kInvalidDevice));
  EXPECT_THAT(vmm().Create(TiB(1024), WithTypes(8)), HasDriverCode(DriverCode::kOutOfMemory));
  EXPECT_THAT(vmm().Create(kGranule, WithTypes(9)), HasDriverCode(DriverCode::kNotPermitted));
}

// What is granted is read back: unknown bits and usage are gone, the host became its node.
TEST_F(PhysicalTest, PropertiesAreWhatWasGranted) {
  AllocationProperties asked = WithTypes(16 | 1);
  asked.gpu_direct_rdma = 7;
  asked.usage = 4;                                // which means nothing
  asked.compression = CompressionType::kGeneric;  // which memory for RDMA does not have
  AllocationProperties granted = Shareable();
  granted.gpu_direct_rdma = 1;
  EXPECT_THAT(vmm().GetAllocationProperties(Create(1, asked)), IsOkAndHolds(granted));
  EXPECT_THAT(vmm().GetAllocationProperties(Create(1, On(Location::Host()))),
              IsOkAndHolds(On(Location::HostNuma(0))));
}

// Free memory falls by the size at Create, on that device alone, and comes back at Release.
TEST_F(PhysicalTest, CreateCostsExactlyItsSize) {
  const MemoryInfo before = *vmm().GetMemoryInfo(kDevice0);
  const MemoryInfo other = *vmm().GetMemoryInfo(kDevice1);
  const AllocationHandle handle = Create(5);
  EXPECT_EQ(vmm().GetMemoryInfo(kDevice0)->free, before.free - 5 * kGranule);
  EXPECT_EQ(vmm().GetMemoryInfo(kDevice1)->free, other.free);
  EXPECT_THAT(vmm().Release(handle), IsOk());
  EXPECT_EQ(vmm().GetMemoryInfo(kDevice0)->free, before.free);
}

// A tile pool that is too large is INVALID_VALUE, but for absurd sizes.
TEST_F(PhysicalTest, CreateRefusesALargeTilePool) {
  AllocationProperties tiles;
  tiles.usage = kUsageTilePool;
  EXPECT_THAT(vmm().Create(MiB(128), tiles), IsOk());
  EXPECT_THAT(vmm().Create(GiB(2), tiles), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Create(TiB(1), tiles), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Create(TiB(128), tiles), HasDriverCode(DriverCode::kOutOfMemory));
}

// A device gives no more than it has, less what is kept back, and an attempt leaves no trace.
TEST_F(PhysicalTest, CreateRunsOutOfMemory) {
  const Bytes free = vmm().GetMemoryInfo(kDevice0)->free;
  const Bytes all = free / kGranule * kGranule;
  EXPECT_THAT(vmm().Create(all, {}), HasDriverCode(DriverCode::kOutOfMemory));
  EXPECT_EQ(vmm().GetMemoryInfo(kDevice0)->free, free);
  EXPECT_THAT(vmm().Create(all - 64 * kGranule, {}), IsOk());
}

// A handle that is 0, invented or dead is an invalid value, never a crash.
TEST_F(PhysicalTest, KnowsDeadHandles) {
  const AllocationHandle handle = Create(1);
  EXPECT_THAT(vmm().Release(handle), IsOk());
  EXPECT_NE(Create(1), handle);
  for (const AllocationHandle dead : {handle, AllocationHandle(0), AllocationHandle(0x1234)}) {
    EXPECT_THAT(vmm().Release(dead), HasDriverCode(kInvalid));
    EXPECT_THAT(vmm().GetAllocationProperties(dead), HasDriverCode(kInvalid));
    EXPECT_THAT(vmm().Map(At(Reserve(1).base, kGranule), dead), HasDriverCode(kInvalid));
    EXPECT_THAT(vmm().ExportShareableHandle(dead, HandleType::kPosixFileDescriptor),
                HasDriverCode(kInvalid));
  }
}

// A mapping keeps the memory and its data when the last reference is released.
TEST_F(PhysicalTest, AMappingKeepsMemoryAlive) {
  const Bytes free = vmm().GetMemoryInfo(kDevice0)->free;
  const AddressRange range = Reserve(1);
  const AllocationHandle handle = MapNew(range.base, 1);
  Grant(range, For(kDevice0, Access::kReadWrite));
  EXPECT_THAT(vmm().Release(handle), IsOk());
  EXPECT_THAT(vmm().Release(handle), HasDriverCode(kInvalid));
  EXPECT_THAT(Write(kDevice0, range.base, 9), IsOk());
  EXPECT_THAT(Read(kDevice0, range.base), IsOkAndHolds(9u));
  EXPECT_EQ(vmm().GetMemoryInfo(kDevice0)->free, free - kGranule);
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_EQ(vmm().GetMemoryInfo(kDevice0)->free, free);
}

// Retaining at any address of a mapping gives the handle back, alive, with one more reference.
TEST_F(PhysicalTest, RetainRevivesTheHandle) {
  const AddressRange range = Reserve(2);
  const AllocationHandle handle = MapNew(range.base, 2);
  EXPECT_THAT(vmm().Release(handle), IsOk());
  EXPECT_THAT(vmm().RetainAllocationHandle(range.end() - Bytes(1)), IsOkAndHolds(handle));
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(vmm().Release(handle), IsOk());
  EXPECT_THAT(vmm().RetainAllocationHandle(range.base), HasDriverCode(kInvalid));
}

// A released handle that is still mapped can be mapped again.
TEST_F(PhysicalTest, AReleasedHandleIsUsableWhileMapped) {
  const AddressRange range = Reserve(2);
  const AllocationHandle handle = MapNew(range.base, 1);
  EXPECT_THAT(vmm().Release(handle), IsOk());
  EXPECT_THAT(vmm().Map(At(range.base + kGranule, kGranule), handle), IsOk());
}

// Compression that is advertised and not granted is read back as none, and the memory is as any.
TEST(PhysicalRefusedTest, CompressionMayNotBeGranted) {
  const auto simulator = *Simulator::Create(*Profile::Named("compression-not-granted"));
  Vmm& vmm = **simulator->vmm();
  AllocationProperties compressed;
  compressed.compression = CompressionType::kGeneric;
  EXPECT_THAT(
      vmm.GetDeviceAttribute(DeviceAttribute::kGenericCompressionSupported, DeviceOrdinal(0)),
      IsOkAndHolds(1));
  const auto handle = vmm.Create(kGranule, compressed);
  ASSERT_THAT(handle, IsOk());
  EXPECT_THAT(vmm.GetAllocationProperties(*handle), IsOkAndHolds(AllocationProperties()));
}

// Memory of the host that is advertised and not permitted is refused after wrong arguments only;
// memory of a device, and what is wrong with the host's, is as elsewhere.
TEST(PhysicalRefusedTest, HostMemoryMayNotBePermitted) {
  const auto simulator = *Simulator::Create(*Profile::Named("host-memory-not-permitted"));
  Vmm& vmm = **simulator->vmm();
  EXPECT_THAT(vmm.GetDeviceAttribute(DeviceAttribute::kHostVirtualMemoryManagementSupported,
                                     DeviceOrdinal(0)),
              IsOkAndHolds(1));
  for (const Location& host : {Location::Host(), Location::HostNuma(0)}) {
    EXPECT_THAT(vmm.Create(kGranule, On(host)), HasDriverCode(DriverCode::kNotPermitted));
    EXPECT_THAT(vmm.Create(kGranule, On(host), 1), HasDriverCode(kInvalid));
  }
  EXPECT_THAT(vmm.Create(kGranule, On(Location::HostNuma(7))), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm.Create(kGranule, On(Location::HostNumaCurrent())), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm.Create(kGranule, {}), IsOk());
}

// Without the quirks, the documentation holds.
TEST(PhysicalDocumentedTest, KeepsToTheDocumentation) {
  Profile profile = Profile::ReferenceH200();
  profile.quirks.granularity_ignores_properties = false;
  profile.quirks.create_ignores_unknown_handle_types = false;
  const auto simulator = *Simulator::Create(profile);
  Vmm& vmm = **simulator->vmm();
  EXPECT_THAT(
      vmm.GetAllocationGranularity(On(Location::Device(DeviceOrdinal(9))), Granularity::kMinimum),
      HasDriverCode(DriverCode::kInvalidDevice));
  EXPECT_THAT(vmm.Create(kGranule, WithTypes(16)), HasDriverCode(kInvalid));
}

}  // namespace
}  // namespace twinmmu
