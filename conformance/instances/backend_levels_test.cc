// The backend over the library of another driver: what that driver lacks is Unimplemented, all
// else works. The arguments are the library and its version. The list of what it lacks is
// functions.inc.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "api/driver.h"
#include "api/testing/matchers.h"
#include "backend/cuda_driver.h"
#include "backend/driver_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

std::string* library = nullptr;
int version = 0;

// What a driver of this version has. One of 10.1 has nothing of virtual memory.
bool Has(Symbol symbol) { return Info(symbol).version <= version; }

class DriverLevelTest : public testing::Test {
 protected:
  static std::unique_ptr<Driver> Open() {
    CudaDriverOptions options;
    options.library = *library;
    options.allow_multicast_on_hardware = true;  // it is none
    return OpenCudaDriver(options).value();
  }

  // The call that needs `symbol` is Unimplemented where the driver lacks it, else it works.
  static void Check(Symbol symbol, const absl::Status& status) {
    if (Has(symbol)) {
      EXPECT_TRUE(status.ok()) << Info(symbol).name << ": " << status;
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented)
          << Info(symbol).name << ": " << status;
    }
  }

  const std::unique_ptr<Driver> driver_ = Open();
  Vmm& vmm_ = *driver_->vmm().value();
  Executor& executor_ = *driver_->executor().value();
};

// A launch needs a newer function only where it asks for what that brought.
TEST_F(DriverLevelTest, OnlyProgrammaticLaunchesNeedANewerDriver) {
  const absl::StatusOr<Module> module = executor_.LoadModule(
      DeviceOrdinal(0),
      ".version 6.0\n.target sm_30\n.address_size 64\n.visible .entry k() { ret; }\n");
  ASSERT_TRUE(module.ok()) << module.status();
  const absl::StatusOr<Kernel> kernel = executor_.GetKernel(*module, "k");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const Stream stream(DeviceOrdinal(0));
  LaunchConfig config;
  Check(Symbol::cuLaunchKernel, executor_.Launch(stream, *kernel, config, {}));
  config.programmatic_stream_serialization = true;
  Check(Symbol::cuLaunchKernelEx, executor_.Launch(stream, *kernel, config, {}));
}

TEST_F(DriverLevelTest, DevicesAndStreamsWorkAtEveryLevel) {
  EXPECT_THAT(vmm_.GetDriverVersion(), IsOkAndHolds(version));
  EXPECT_THAT(vmm_.GetDeviceCount(), IsOkAndHolds(2));
  EXPECT_TRUE(vmm_.GetMemoryInfo(DeviceOrdinal(0)).ok());
  const absl::StatusOr<Stream> stream = executor_.CreateStream(DeviceOrdinal(1));
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_TRUE(executor_.SynchronizeStream(*stream).ok());
  EXPECT_TRUE(executor_.DestroyStream(*stream).ok());
}

TEST_F(DriverLevelTest, VirtualMemoryLacksExactlyWhatTheDriverLacks) {
  const Bytes size = MiB(2);
  const AllocationProperties plain;
  const Location device = Location::Device(DeviceOrdinal(0));
  Check(Symbol::cuMemGetAllocationGranularity,
        vmm_.GetAllocationGranularity(plain, Granularity::kMinimum).status());
  const absl::StatusOr<AddressRange> reserved = vmm_.AddressReserve(size);
  Check(Symbol::cuMemAddressReserve, reserved.status());
  const absl::StatusOr<AllocationHandle> made = vmm_.Create(size, plain);
  Check(Symbol::cuMemCreate, made.status());
  const AddressRange range =
      reserved.value_or(AddressRange{DeviceAddress(1 << 30), size, Bytes(0)});
  const AllocationHandle handle = made.value_or(AllocationHandle(1));
  Check(Symbol::cuMemMap, vmm_.Map(range, handle));
  Check(Symbol::cuMemSetAccess, vmm_.SetAccess(range, {{device, Access::kReadWrite}}));
  Check(Symbol::cuMemGetAccess, vmm_.GetAccess(device, range.base).status());
  Check(Symbol::cuMemGetAllocationPropertiesFromHandle,
        vmm_.GetAllocationProperties(handle).status());
  const absl::StatusOr<AllocationHandle> retained = vmm_.RetainAllocationHandle(range.base);
  Check(Symbol::cuMemRetainAllocationHandle, retained.status());
  if (retained.ok()) Check(Symbol::cuMemRelease, vmm_.Release(*retained));
  if (made.ok()) {
    EXPECT_TRUE(executor_.Fill(DeviceOrdinal(0), range.base, FillPattern{7}, size.value()).ok());
  }
  Check(Symbol::cuMemUnmap, vmm_.Unmap(range));
  Check(Symbol::cuMemRelease, vmm_.Release(handle));
  Check(Symbol::cuMemAddressFree, vmm_.AddressFree(range));
}

TEST_F(DriverLevelTest, MulticastBindsByDeviceFromItsFirstDriverOn) {
  if (!Has(Symbol::cuMulticastCreate)) return;
  Multicast& multicast = *driver_->multicast().value();
  const AllocationHandle object = multicast.Create({1, MiB(2), HandleType::kNone, 0}).value();
  const DeviceOrdinal device(0);
  ASSERT_TRUE(multicast.AddDevice(object, device).ok());
  const AllocationHandle memory = vmm_.Create(MiB(2), AllocationProperties()).value();
  const AddressRange range = vmm_.AddressReserve(MiB(2)).value();
  ASSERT_TRUE(vmm_.Map(range, memory).ok());
  Check(Symbol::cuMulticastBindMem_v2,
        multicast.BindMemoryForDevice(object, device, Bytes(0), memory, Bytes(0), MiB(2), 0));
  multicast.Unbind(object, device, Bytes(0), MiB(2)).IgnoreError();
  Check(Symbol::cuMulticastBindAddr_v2,
        multicast.BindAddressForDevice(object, device, Bytes(0), range, 0));
}

TEST_F(DriverLevelTest, FabricHandlesAreAnAttributeFromTheirFirstDriverOn) {
  const absl::StatusOr<int> fabric =
      vmm_.GetDeviceAttribute(DeviceAttribute::kHandleTypeFabricSupported, DeviceOrdinal(0));
  EXPECT_EQ(fabric.ok(), version >= 12040) << fabric.status();
}

}  // namespace
}  // namespace twinmmu

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  if (argc != 3 || !absl::SimpleAtoi(argv[2], &twinmmu::version)) return 2;
  twinmmu::library = new std::string(argv[1]);
  return RUN_ALL_TESTS();
}
