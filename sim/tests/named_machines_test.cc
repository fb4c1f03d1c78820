// Machines that nobody measured: each refuses what was reported of its kind, and nothing else.

#include <array>
#include <string>

#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/testing/sharing_machine.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;

Profile MachineOf(const char* name) { return *Profile::Named(name); }

TEST(NamedMachinesTest, WslGrantsNoMemoryForRdma) {
  SharingMachine machine(MachineOf("wsl"));
  AllocationProperties rdma;
  rdma.gpu_direct_rdma = 1;
  const auto handle = machine.vmm().Create(kGranule, rdma);
  ASSERT_THAT(handle, IsOk());
  const AddressRange range = *machine.vmm().AddressReserve(kGranule);
  EXPECT_THAT(machine.vmm().Map(range, *handle), IsOk());
  EXPECT_THAT(machine.vmm().SetAccess(range, std::array{For(kDevice0, Access::kReadWrite)}),
              HasDriverCode(DriverCode::kUnknown));
  EXPECT_THAT(machine.vmm().SetAccess(range, std::array{For(kDevice0, Access::kNone)}), IsOk());
}

TEST(NamedMachinesTest, WslHasFewAddresses) {
  SharingMachine machine(MachineOf("wsl"));
  EXPECT_THAT(machine.vmm().AddressReserve(GiB(32)), HasDriverCode(DriverCode::kOutOfMemory));
  EXPECT_THAT(machine.vmm().AddressReserve(GiB(16)), IsOk());
}

TEST(NamedMachinesTest, WslRegistersNoMemoryOfTheHost) {
  SharingMachine machine(MachineOf("wsl"));
  alignas(4096) static char memory[4096];
  EXPECT_THAT(machine.simulator().linear().RegisterHost({kDevice0, 0}, memory, KiB(4), 0),
              HasDriverCode(DriverCode::kNotSupported));
}

TEST(NamedMachinesTest, AnInstanceIsAPartOfADevice) {
  const Profile whole = Profile::ReferenceH200(1);
  const Profile instance = MachineOf("mig");
  EXPECT_EQ(instance.device_count(), 1);
  EXPECT_LT(instance.devices[0].memory, whole.devices[0].memory);
  EXPECT_LT(instance.devices[0].memory_in_use, whole.devices[0].memory_in_use);
  SharingMachine machine(instance);
  EXPECT_THAT(machine.vmm().GetDeviceAttribute(DeviceAttribute(16), kDevice0), IsOkAndHolds(16))
      << "multiprocessors";
}

TEST(NamedMachinesTest, AVirtualDeviceHasNoMemoryForRdmaAndNoManagedMemory) {
  SharingMachine machine(MachineOf("vgpu"));
  AllocationProperties rdma;
  rdma.gpu_direct_rdma = 1;
  EXPECT_THAT(machine.vmm().Create(kGranule, rdma), HasDriverCode(DriverCode::kNotSupported));
  EXPECT_THAT(machine.vmm().GetDeviceAttribute(DeviceAttribute(83), kDevice0), IsOkAndHolds(0))
      << "managed memory";
}

TEST(NamedMachinesTest, ANodeWithoutMemoryHasNone) {
  SharingMachine machine(MachineOf("numa-without-memory"));
  EXPECT_THAT(machine.vmm().GetDeviceAttribute(DeviceAttribute::kHostNumaId, kDevice1),
              IsOkAndHolds(1));
  AllocationProperties there;
  there.location = Location::HostNuma(1);
  EXPECT_THAT(machine.vmm().Create(kGranule, there), HasDriverCode(DriverCode::kOutOfMemory));
  there.location = Location::HostNuma(0);
  EXPECT_THAT(machine.vmm().Create(kGranule, there), IsOk());
}

TEST(NamedMachinesTest, ADeviceThatIsNotVisibleIsInvalid) {
  SharingMachine exporter;
  SharingMachine importer(MachineOf("exporter-invisible"));
  const int foreign = exporter.Export(exporter.Create());
  EXPECT_THAT(importer.Import(foreign), HasDriverCode(DriverCode::kInvalidDevice));
  close(foreign);
  importer.Take(importer.Export(importer.Create()));
}

// Since CUDA 13.2 it can be used, and nobody is told where it is.
TEST(NamedMachinesTest, LaterDriversImportMemoryOfDevicesThatAreNotVisible) {
  Profile here = MachineOf("exporter-invisible");
  here.driver_version = 13020;
  SharingMachine exporter(MachineOf("driver-13.2"));
  SharingMachine importer(here);
  const int foreign = exporter.Export(exporter.Create());
  const Bytes before = importer.vmm().GetMemoryInfo(kDevice0)->free;
  const absl::StatusOr<AllocationHandle> memory = importer.Import(foreign);
  close(foreign);
  ASSERT_THAT(memory, IsOk());
  EXPECT_EQ(importer.vmm().GetMemoryInfo(kDevice0)->free, before) << "it is of no device here";
  EXPECT_EQ(importer.vmm().GetAllocationProperties(*memory)->location,
            (Location{LocationType::kInvisible, -2}));
  const AddressRange range = *importer.vmm().AddressReserve(SharingMachine::kSize);
  ASSERT_THAT(importer.vmm().Map(range, *memory), IsOk());
  for (const DeviceOrdinal device : {kDevice0, kDevice1}) {
    EXPECT_THAT(importer.vmm().SetAccess(range, std::array{For(device, Access::kReadWrite)}),
                IsOk());
  }
  EXPECT_THAT(importer.vmm().SetAccess(range, std::array{ForHost(Access::kReadWrite)}),
              HasDriverCode(DriverCode::kNotSupported));
  EXPECT_EQ(static_cast<int>(*importer.vmm().GetPointerAttribute(
                kDevice0, PointerAttribute::kDeviceOrdinal, range.base)),
            -2);
  EXPECT_THAT(importer.vmm().Unmap(range), IsOk());
  EXPECT_THAT(importer.vmm().Release(*memory), IsOk());
  EXPECT_EQ(importer.vmm().GetMemoryInfo(kDevice0)->free, before);
}

// They can do so with memory only: a multicast object of such devices is of no use here.
TEST(NamedMachinesTest, LaterDriversImportNoObjectOfDevicesThatAreNotVisible) {
  Profile here = MachineOf("exporter-invisible");
  here.driver_version = 13020;
  SharingMachine exporter(MachineOf("driver-13.2"));
  SharingMachine importer(here);
  Multicast& multicast = **exporter.simulator().multicast();
  const int foreign =
      exporter.Export(*multicast.Create({2, kGranule, HandleType::kPosixFileDescriptor, 0}));
  EXPECT_THAT(importer.Import(foreign), HasDriverCode(DriverCode::kInvalidDevice));
  close(foreign);
}

TEST(NamedMachinesTest, LocalityDomainsCameWithCuda134) {
  AllocationProperties domain;
  domain.location = Location::LocalityDomain(kDevice0, 1);
  for (const char* const name : {"reference", "driver-13.3"}) {
    SharingMachine machine(MachineOf(name));
    EXPECT_THAT(machine.vmm().Create(kGranule, domain), HasDriverCode(DriverCode::kInvalidValue));
  }
  SharingMachine machine(MachineOf("driver-13.4"));
  EXPECT_THAT(machine.vmm().Create(kGranule, domain), IsOk());
}

// A device that is all one has memory of no part.
TEST(NamedMachinesTest, TheOnlyDomainIsTheDevice) {
  Profile profile = MachineOf("driver-13.4");
  for (DeviceProfile& device : profile.devices) {
    device.attributes[static_cast<DeviceAttribute>(149)] = 1;
  }
  SharingMachine machine(profile);
  AllocationProperties domain;
  domain.location = Location::LocalityDomain(kDevice1, 0);
  const auto handle = machine.vmm().Create(kGranule, domain);
  ASSERT_THAT(handle, IsOk());
  EXPECT_EQ(machine.vmm().GetAllocationProperties(*handle)->location, Location::Device(kDevice1));
  domain.location = Location::LocalityDomain(kDevice1, 1);
  EXPECT_THAT(machine.vmm().Create(kGranule, domain), HasDriverCode(DriverCode::kInvalidValue));
}

TEST(NamedMachinesTest, AnImportIsInTheDomainOfItsMemory) {
  SharingMachine exporter(MachineOf("driver-13.4"));
  SharingMachine importer(MachineOf("driver-13.4"));
  AllocationProperties domain = Shareable();
  domain.location = Location::LocalityDomain(kDevice1, 1);
  const int foreign = exporter.Export(*exporter.vmm().Create(kGranule, domain));
  const absl::StatusOr<AllocationHandle> memory = importer.Import(foreign);
  close(foreign);
  ASSERT_THAT(memory, IsOk());
  EXPECT_EQ(importer.vmm().GetAllocationProperties(*memory)->location, domain.location);
}

TEST(NamedMachinesTest, MemoryOfTheHostIsVisibleFromEverywhere) {
  SharingMachine exporter;
  SharingMachine importer(MachineOf("exporter-invisible"));
  AllocationProperties host;
  host.location = Location::HostNuma(0);
  host.requested_handle_types = HandleType::kPosixFileDescriptor;
  importer.Take(exporter.Export(*exporter.vmm().Create(kGranule, host)));
}

TEST(NamedMachinesTest, AB200RunsPtxOfItsOwn) {
  SharingMachine machine(MachineOf("reference-b200"));
  Executor& executor = **machine.simulator().executor();
  const auto load = [&](const std::string& target, const std::string& body) {
    return executor.LoadModule(kDevice0, ".version 8.7\n.target " + target +
                                             "\n.address_size 64\n.visible .entry k() {\n" +
                                             ".reg .b32 %r; .reg .b64 %d;\n" + body + "\nret; }");
  };
  for (const char* target : {"sm_70", "sm_90", "sm_100", "sm_100a"}) {
    const auto module = load(target, "mov.u32 %r, 5;");
    ASSERT_THAT(module, IsOk()) << target;
    EXPECT_THAT(executor.Launch(Stream(kDevice0), *executor.GetKernel(*module, "k"), {}, {}),
                IsOk());
  }
  for (const char* target : {"sm_90a", "sm_120"}) {
    EXPECT_THAT(load(target, ""), HasDriverCode(DriverCode::kInvalidPtx)) << target;
  }
}

TEST(NamedMachinesTest, AB200RefusesKernelsWithTensorMemoryByName) {
  SharingMachine machine(MachineOf("reference-b200"));
  Executor& executor = **machine.simulator().executor();
  const auto module = executor.LoadModule(
      kDevice0,
      ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r;\n"
      "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\nret; }\n"
      ".visible .entry other() { ret; }");
  ASSERT_THAT(module, IsOk());
  const absl::Status launched =
      executor.Launch(Stream(kDevice0), *executor.GetKernel(*module, "k"), {}, {});
  EXPECT_THAT(std::string(launched.message()), HasSubstr("line 6: `tcgen05"));
  EXPECT_THAT(executor.Launch(Stream(kDevice0), *executor.GetKernel(*module, "other"), {}, {}),
              IsOk());
}

}  // namespace
}  // namespace twinmmu
