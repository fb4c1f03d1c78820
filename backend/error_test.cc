// The words of an error: the call, every argument, the driver's code.

#include "backend/error.h"

#include <string>

#include "api/driver_error.h"
#include "api/testing/matchers.h"
#include "backend/call_driver.h"
#include "backend/cuda_executor.h"
#include "backend/cuda_vmm.h"
#include "backend/fake_driver.h"
#include "backend/primary_contexts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

constexpr AddressRange kRange{DeviceAddress(0x7f0000200000), Bytes(2097152), Bytes(0)};

class ErrorTest : public testing::Test {
 protected:
  // The message of `status`, which must have failed.
  static std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

  FakeDriver fake_;
  const DriverTable table_ = FakeDriver::Table();
  PrimaryContexts contexts_{table_};
  CudaVmm cuda_vmm_{table_, contexts_};
  Vmm& vmm_ = cuda_vmm_;
};

// Every code of the driver, and every number that is none, survives in the status, with the
// canonical code that api/ gives it.
TEST_F(ErrorTest, KeepsEveryCodeOfTheDriver) {
  for (int code = -1; code <= 1100; ++code) {
    if (code == 0) continue;
    fake_.SetResult(Symbol::cuMemUnmap, code);
    const absl::Status status = vmm_.Unmap(kRange);
    const auto driver_code = static_cast<DriverCode>(code);
    ASSERT_EQ(GetDriverError(status),
              (DriverError{driver_code, ErrorOrigin::kDriver, "cuMemUnmap"}));
    ASSERT_EQ(status.code(), CanonicalCode(driver_code)) << code;
  }
}

// Addresses and handles are hexadecimal, sizes, offsets and flags decimal.
TEST_F(ErrorTest, NamesTheCallEveryArgumentAndTheCode) {
  fake_.SetResult(Symbol::cuMemMap, 1);
  EXPECT_EQ(MessageOf(vmm_.Map(kRange, AllocationHandle(0x55d0c0ff), Bytes(4096), 7)),
            "cuMemMap(ptr=0x7f0000200000, size=2097152, offset=4096, handle=0x55d0c0ff, flags=7) "
            "failed: CUDA_ERROR_INVALID_VALUE (1)");
}

// Outputs are left out; structures show their fields.
TEST_F(ErrorTest, ShowsTheFieldsOfAllocationProperties) {
  fake_.SetResult(Symbol::cuMemCreate, 2);
  AllocationProperties properties;
  properties.requested_handle_types = HandleType::kFabric;
  properties.location = Location::HostNuma(1);
  properties.compression = CompressionType::kGeneric;
  properties.usage = 3;
  EXPECT_EQ(MessageOf(vmm_.Create(Bytes(1), properties).status()),
            "cuMemCreate(size=1, prop={type=1, requestedHandleTypes=8, location={type=3, id=1}, "
            "compressionType=1, gpuDirectRDMACapable=0, usage=3}, flags=0) "
            "failed: CUDA_ERROR_OUT_OF_MEMORY (2)");
}

// An array shows every element.
TEST_F(ErrorTest, ShowsEveryGrant) {
  fake_.SetResult(Symbol::cuMemSetAccess, 101);
  const AccessGrant grants[] = {{Location::Device(DeviceOrdinal(9)), Access::kReadWrite},
                                {Location::Host(), Access::kRead}};
  EXPECT_EQ(MessageOf(vmm_.SetAccess(kRange, grants)),
            "cuMemSetAccess(ptr=0x7f0000200000, size=2097152, desc=[{location={type=1, id=9}, "
            "flags=3}, {location={type=2, id=0}, flags=1}], count=2) "
            "failed: CUDA_ERROR_INVALID_DEVICE (101)");
}

// A location passed by pointer shows its fields.
TEST_F(ErrorTest, ShowsALocation) {
  fake_.SetResult(Symbol::cuMemGetAccess, 1);
  EXPECT_EQ(MessageOf(vmm_.GetAccess(Location::HostNuma(1), DeviceAddress(0x10)).status()),
            "cuMemGetAccess(location={type=3, id=1}, ptr=0x10) "
            "failed: CUDA_ERROR_INVALID_VALUE (1)");
}

// Streams, functions and text read as such; a call without arguments has empty brackets.
TEST_F(ErrorTest, ShowsObjectsAndText) {
  CudaExecutor executor(contexts_);
  const DeviceOrdinal device(0);
  fake_.SetResult(Symbol::cuStreamWaitEvent, 400);
  EXPECT_EQ(MessageOf(executor.WaitEvent(Stream(device, 0xab), Event(device, 0xcd))),
            "cuStreamWaitEvent(stream=0xab, event=0xcd, flags=0) "
            "failed: CUDA_ERROR_INVALID_HANDLE (400)");
  fake_.SetResult(Symbol::cuModuleGetFunction, 500);
  EXPECT_EQ(MessageOf(executor.GetKernel(Module(device, 0xef), "fill").status()),
            "cuModuleGetFunction(module=0xef, name=\"fill\") "
            "failed: CUDA_ERROR_NOT_FOUND (500)");
  fake_.SetResult(Symbol::cuCtxSynchronize, 700);
  EXPECT_EQ(MessageOf(executor.SynchronizeDevice(device)),
            "cuCtxSynchronize() failed: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
}

// A missing function and one that is too old read differently; both name library and version.
TEST(MissingSymbolTest, SaysMissingOrTooOld) {
  DriverTable table;
  table.library = "/opt/libcuda.so.1";
  EXPECT_EQ(MissingSymbol(table, Symbol::cuMemGetInfo).message(),
            "/opt/libcuda.so.1 has no cuMemGetInfo (version 3020)");
  table.driver_version = 9000;
  EXPECT_EQ(MissingSymbol(table, Symbol::cuMemGetInfo).message(),
            "/opt/libcuda.so.1 (driver version 9000) has no cuMemGetInfo (version 3020)");
  table.too_old[static_cast<size_t>(Symbol::cuMemMap)] = true;
  EXPECT_EQ(MissingSymbol(table, Symbol::cuMemMap).message(),
            "/opt/libcuda.so.1 (driver version 9000) is too old for cuMemMap, which needs version "
            "10020");
}

// A status keeps its payload when text is added.
TEST(AppendTest, KeepsThePayload) {
  const DriverError error{DriverCode::kInvalidPtx, ErrorOrigin::kDriver, "cuModuleLoadDataEx"};
  const absl::Status status = Append(MakeDriverStatus(error, "failed"), "\nline 3: no");
  EXPECT_EQ(status.message(), "failed\nline 3: no");
  EXPECT_EQ(GetDriverError(status), error);
}

}  // namespace
}  // namespace twinmmu
