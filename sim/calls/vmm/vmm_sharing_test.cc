// ExportShareableHandle and ImportShareableHandle.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

constexpr auto kInvalid = DriverCode::kInvalidValue;
constexpr auto kPosix = HandleType::kPosixFileDescriptor;

class SharingTest : public MachineTest {
 protected:
  absl::StatusOr<AllocationHandle> Import(int file_descriptor) {
    return vmm().ImportShareableHandle(ShareableHandle::FileDescriptor(file_descriptor));
  }
  int Export(AllocationHandle handle) {
    const auto shared = vmm().ExportShareableHandle(handle, kPosix);
    EXPECT_THAT(shared, IsOk());
    return shared->file_descriptor;
  }
};

// Each export is a new descriptor, closed on exec.
TEST_F(SharingTest, ExportsNewDescriptors) {
  const AllocationHandle handle = Create(1, Shareable());
  const int a = Export(handle);
  const int b = Export(handle);
  EXPECT_NE(a, b);
  EXPECT_EQ(fcntl(a, F_GETFD), FD_CLOEXEC);
  close(a);
  close(b);
}

// Only what was asked for at creation can be exported, one type at a time, without flags.
TEST_F(SharingTest, ExportsOnlyWhatWasRequested) {
  const AllocationHandle shared = Create(1, Shareable());
  EXPECT_THAT(vmm().ExportShareableHandle(Create(1), kPosix), HasDriverCode(kInvalid));
  for (const int type : {0, 2, 3, 8, 99}) {
    EXPECT_THAT(vmm().ExportShareableHandle(shared, static_cast<HandleType>(type)),
                HasDriverCode(kInvalid));
  }
  EXPECT_THAT(vmm().ExportShareableHandle(shared, kPosix, 1), HasDriverCode(kInvalid));
}

// An import is a handle of its own over the same memory, and cannot be exported again.
TEST_F(SharingTest, ImportsTheSameMemory) {
  const AddressRange range = Reserve(2);
  const AllocationHandle handle = MapNew(range.base, 1, Shareable());
  const int file = Export(handle);
  const auto imported = Import(file);
  close(file);
  ASSERT_THAT(imported, IsOk());
  EXPECT_NE(*imported, handle);
  EXPECT_THAT(vmm().GetAllocationProperties(*imported), IsOkAndHolds(AllocationProperties()));
  EXPECT_THAT(vmm().ExportShareableHandle(*imported, kPosix), HasDriverCode(kInvalid));
  const DeviceAddress alias = range.base + kGranule;
  EXPECT_THAT(vmm().Map(At(alias, kGranule), *imported), IsOk());
  EXPECT_THAT(vmm().RetainAllocationHandle(alias), IsOkAndHolds(*imported));
  Grant(range, For(kDevice0, Access::kReadWrite));
  EXPECT_THAT(Write(kDevice0, range.base, 77), IsOk());
  EXPECT_THAT(Read(kDevice0, alias), IsOkAndHolds(77u));
  const auto block = [&](DeviceAddress address) {
    return *vmm().GetPointerAttribute(kDevice0, PointerAttribute::kMemoryBlockId, address);
  };
  EXPECT_NE(block(alias), block(range.base)) << "and a block of its own";
}

// An open descriptor keeps memory, data and all, through a copy of it too; closing it frees.
TEST_F(SharingTest, ADescriptorKeepsMemoryAlive) {
  const Bytes free = vmm().GetMemoryInfo(kDevice0)->free;
  const AddressRange range = Reserve(1);
  const AllocationHandle handle = MapNew(range.base, 1, Shareable());
  Grant(range, For(kDevice0, Access::kReadWrite));
  EXPECT_THAT(Write(kDevice0, range.base, 78), IsOk());
  const int original = Export(handle);
  const int copy = dup(original);
  close(original);
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(vmm().Release(handle), IsOk());
  EXPECT_EQ(vmm().GetMemoryInfo(kDevice0)->free, free - kGranule);
  const auto imported = Import(copy);
  close(copy);
  ASSERT_THAT(imported, IsOk());
  EXPECT_THAT(vmm().Map(range, *imported), IsOk());
  Grant(range, For(kDevice0, Access::kRead));
  EXPECT_THAT(Read(kDevice0, range.base), IsOkAndHolds(78u));
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(vmm().Release(*imported), IsOk());
  EXPECT_EQ(vmm().GetMemoryInfo(kDevice0)->free, free);
}

// What is no descriptor of shared memory is refused, with the driver's various codes.
TEST_F(SharingTest, RefusesWhatIsNotShared) {
  const int file = open("/dev/null", O_RDWR);
  const int pages = memfd_create("foreign", 0);
  for (const int wrong : {-1, 19999, file, pages}) {
    EXPECT_THAT(Import(wrong), HasDriverCode(DriverCode::kUnknown));
  }
  EXPECT_THAT(Import(0), HasDriverCode(kInvalid));
  const auto type = [&](uint32_t number) {
    return vmm().ImportShareableHandle({static_cast<HandleType>(number), file, {}});
  };
  EXPECT_THAT(type(0), HasDriverCode(kInvalid));
  EXPECT_THAT(type(3), HasDriverCode(kInvalid));
  EXPECT_THAT(type(99), HasDriverCode(kInvalid));
  EXPECT_THAT(type(2), HasDriverCode(DriverCode::kNotSupported));
  close(file);
  close(pages);
}

class FabricTest : public MachineTest {
 protected:
  FabricTest() : MachineTest(*Profile::Named("fabric-permitted")) {}
};

AllocationProperties OnFabric() {
  AllocationProperties properties;
  properties.requested_handle_types = HandleType::kFabric;
  return properties;
}

// Where fabric handles are permitted, one imports as a handle of its own over the same memory.
TEST_F(FabricTest, ImportsTheSameMemory) {
  const AddressRange range = Reserve(2);
  const AllocationHandle handle = MapNew(range.base, 1, OnFabric());
  const auto shared = vmm().ExportShareableHandle(handle, HandleType::kFabric);
  ASSERT_THAT(shared, IsOk());
  EXPECT_EQ(shared->type, HandleType::kFabric);
  const auto imported = vmm().ImportShareableHandle(*shared);
  ASSERT_THAT(imported, IsOk());
  EXPECT_NE(*imported, handle);
  EXPECT_THAT(vmm().ExportShareableHandle(*imported, HandleType::kFabric), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Map(At(range.base + kGranule, kGranule), *imported), IsOk());
  Grant(range, For(kDevice0, Access::kReadWrite));
  EXPECT_THAT(Write(kDevice0, range.base, 79), IsOk());
  EXPECT_THAT(Read(kDevice0, range.base + kGranule), IsOkAndHolds(79u));
}

// It need not have been exported as a descriptor as well.
TEST_F(FabricTest, ImportsMemoryThatHasBothHandleTypes) {
  AllocationProperties both = OnFabric();
  both.requested_handle_types = HandleType::kFabric | HandleType::kPosixFileDescriptor;
  const auto shared = vmm().ExportShareableHandle(Create(1, both), HandleType::kFabric);
  ASSERT_THAT(shared, IsOk());
  EXPECT_THAT(vmm().ImportShareableHandle(*shared), IsOk());
}

// Though only a descriptor kept it, it stays when that is closed.
TEST_F(FabricTest, AnImportKeepsWhatADescriptorKept) {
  const Bytes free = vmm().GetMemoryInfo(kDevice0)->free;
  AllocationProperties both = OnFabric();
  both.requested_handle_types = HandleType::kFabric | HandleType::kPosixFileDescriptor;
  const AllocationHandle handle = Create(1, both);
  const auto by_file = vmm().ExportShareableHandle(handle, HandleType::kPosixFileDescriptor);
  const auto by_fabric = vmm().ExportShareableHandle(handle, HandleType::kFabric);
  ASSERT_THAT(by_file, IsOk());
  ASSERT_THAT(by_fabric, IsOk());
  ASSERT_THAT(vmm().Release(handle), IsOk());
  const auto imported = vmm().ImportShareableHandle(*by_fabric);
  ASSERT_THAT(imported, IsOk());
  close(by_file->file_descriptor);
  EXPECT_EQ(vmm().GetMemoryInfo(kDevice0)->free, free - kGranule);
  EXPECT_THAT(vmm().Release(*imported), IsOk());
  EXPECT_EQ(vmm().GetMemoryInfo(kDevice0)->free, free);
}

// A fabric handle keeps no memory; a dead one, and that of another machine, name nothing.
TEST_F(FabricTest, AHandleKeepsNothing) {
  const Bytes free = vmm().GetMemoryInfo(kDevice0)->free;
  const AllocationHandle handle = Create(1, OnFabric());
  const auto shared = vmm().ExportShareableHandle(handle, HandleType::kFabric);
  ASSERT_THAT(shared, IsOk());
  const auto other = *Simulator::Create(*Profile::Named("fabric-permitted"));
  EXPECT_THAT((*other->vmm())->ImportShareableHandle(*shared),
              HasDriverCode(DriverCode::kNotSupported));
  const auto imported = vmm().ImportShareableHandle(*shared);
  EXPECT_THAT(vmm().Release(handle), IsOk());
  EXPECT_EQ(vmm().GetMemoryInfo(kDevice0)->free, free - kGranule) << "the import keeps it";
  EXPECT_THAT(vmm().Release(*imported), IsOk());
  EXPECT_EQ(vmm().GetMemoryInfo(kDevice0)->free, free);
  EXPECT_THAT(vmm().ImportShareableHandle(*shared), HasDriverCode(DriverCode::kNotSupported));
}

}  // namespace
}  // namespace twinmmu
