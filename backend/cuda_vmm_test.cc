// What CudaVmm makes of the driver's outputs. Arguments, missing and failing functions: see
// every_call_test.cc.

#include "backend/cuda_vmm.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "api/driver_error.h"
#include "api/testing/matchers.h"
#include "backend/fake_driver.h"
#include "backend/primary_contexts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

constexpr DeviceOrdinal kDevice(1);
constexpr AddressRange kRange{DeviceAddress(0x7f0000200000), Bytes(2097152), Bytes(0)};
constexpr AllocationHandle kHandle(0x55d0);

class CudaVmmTest : public testing::Test {
 protected:
  void SetOutput(const void* data, size_t size) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    fake_.output_bytes.assign(bytes, bytes + size);
  }

  FakeDriver fake_;
  const DriverTable table_ = FakeDriver::Table();
  PrimaryContexts contexts_{table_};
  CudaVmm cuda_vmm_{table_, contexts_};
  Vmm& vmm_ = cuda_vmm_;
};

// Each single number that the driver writes comes back as it is.
TEST_F(CudaVmmTest, ReturnsTheNumbersThatTheDriverWrites) {
  EXPECT_THAT(vmm_.GetDriverVersion(), IsOkAndHolds(0xa1));
  EXPECT_THAT(vmm_.GetDeviceCount(), IsOkAndHolds(0xa1));
  EXPECT_THAT(vmm_.GetDeviceName(kDevice), IsOkAndHolds("Fake GPU 101"));
  EXPECT_THAT(vmm_.GetDeviceAttribute(DeviceAttribute::kDmaBufSupported, kDevice),
              IsOkAndHolds(0xa1));
  EXPECT_THAT(vmm_.CanAccessPeer(kDevice, DeviceOrdinal(2)), IsOkAndHolds(true));
  EXPECT_THAT(vmm_.GetAllocationGranularity({}, Granularity::kMinimum), IsOkAndHolds(Bytes(0xa1)));
  EXPECT_THAT(vmm_.Create(MiB(2), {}), IsOkAndHolds(AllocationHandle(0xa1)));
  EXPECT_THAT(vmm_.RetainAllocationHandle(kRange.base), IsOkAndHolds(AllocationHandle(0xa1)));
  EXPECT_THAT(vmm_.GetAccess(Location::Host(), kRange.base),
              IsOkAndHolds(static_cast<Access>(0xa1)));
  EXPECT_THAT(vmm_.ImportShareableHandle(ShareableHandle::FileDescriptor(3)),
              IsOkAndHolds(AllocationHandle(0xa1)));
}

// Free memory comes before total memory.
TEST_F(CudaVmmTest, ReturnsFreeAndTotalMemory) {
  EXPECT_THAT(vmm_.GetMemoryInfo(kDevice),
              IsOkAndHolds(AllOf(Field(&MemoryInfo::free, Bytes(0xa1)),
                                 Field(&MemoryInfo::total, Bytes(0xa2)))));
}

// A reservation has the driver's base and the caller's size and alignment.
TEST_F(CudaVmmTest, ReturnsTheReservedRange) {
  const auto range = vmm_.AddressReserve(MiB(4), {MiB(2), DeviceAddress(0), 0});
  EXPECT_THAT(range, IsOkAndHolds(AddressRange{DeviceAddress(0xa1), MiB(4), Bytes(0)}));
  EXPECT_EQ(range->alignment, MiB(2));
}

// The range at an address has the driver's base and size.
TEST_F(CudaVmmTest, ReturnsTheRangeAtAnAddress) {
  EXPECT_THAT(vmm_.GetAddressRange(kDevice, kRange.base),
              IsOkAndHolds(AddressRange{DeviceAddress(0xa1), Bytes(0xa2), Bytes(0)}));
}

// Every field of the properties comes back in its place.
TEST_F(CudaVmmTest, ReturnsAllocationProperties) {
  const auto properties = vmm_.GetAllocationProperties(kHandle);
  ASSERT_THAT(properties, IsOk());
  AllocationProperties expected;
  expected.type = static_cast<AllocationType>(1);
  expected.requested_handle_types = static_cast<HandleType>(2);
  expected.location = {static_cast<LocationType>(3), 4};
  expected.compression = static_cast<CompressionType>(5);
  expected.gpu_direct_rdma = 6;
  expected.usage = 7;
  EXPECT_EQ(*properties, expected);
}

// Without grants the driver still gets the call, with a count of 0: refusing it is its business.
TEST_F(CudaVmmTest, PassesAnEmptyListOfGrants) {
  EXPECT_THAT(vmm_.SetAccess(kRange, {}), IsOk());
  EXPECT_THAT(fake_.TakeCalls(), ElementsAre("cuMemSetAccess(0x7f0000200000, 0x200000, [], 0x0)"));
}

// More grants than fit on the stack reach the driver, each of them, in order.
TEST_F(CudaVmmTest, PassesManyGrants) {
  std::vector<AccessGrant> grants;
  for (int i = 0; i < 40; ++i) {
    grants.push_back({Location::Device(DeviceOrdinal(i)), Access::kReadWrite});
  }
  EXPECT_THAT(vmm_.SetAccess(kRange, grants), IsOk());
  EXPECT_THAT(fake_.TakeCalls(), ElementsAre(AllOf(HasSubstr("[{{1 0} 3} {{1 1} 3}"),
                                                   HasSubstr("{{1 39} 3}], 0x28"))));
}

// An attribute is as wide as the driver writes it: 1, 4, 8 or 16 bytes; the rest is zero.
TEST_F(CudaVmmTest, ReadsPointerAttributesOfEveryWidth) {
  const auto get = [&](int attribute) {
    return vmm_.GetPointerAttribute(kDevice, static_cast<PointerAttribute>(attribute), kRange.base);
  };
  const bool is_mapped = true;
  SetOutput(&is_mapped, sizeof(is_mapped));
  EXPECT_THAT(get(13), IsOkAndHolds(1u));
  const uint32_t access_flags = 0xffffffff;
  SetOutput(&access_flags, sizeof(access_flags));
  EXPECT_THAT(get(16), IsOkAndHolds(0xffffffffu));
  const uint64_t range_size = 0x123456789abcdef0;
  SetOutput(&range_size, sizeof(range_size));
  EXPECT_THAT(get(12), IsOkAndHolds(range_size));
  const uint64_t p2p_tokens[2] = {0x1111222233334444, 0x55555555};
  SetOutput(p2p_tokens, sizeof(p2p_tokens));
  EXPECT_THAT(get(5), IsOkAndHolds(p2p_tokens[0]));
}

// An exported descriptor is the one the driver wrote, and an exec closes it.
TEST_F(CudaVmmTest, ExportsTheDescriptorAsTheDriverMadeIt) {
  const int driver_fd = dup(0);
  ASSERT_EQ(fcntl(driver_fd, F_GETFD), 0);
  SetOutput(&driver_fd, sizeof(driver_fd));
  const auto exported = vmm_.ExportShareableHandle(kHandle, HandleType::kPosixFileDescriptor);
  ASSERT_THAT(exported, IsOk());
  EXPECT_EQ(exported->type, HandleType::kPosixFileDescriptor);
  EXPECT_EQ(exported->file_descriptor, driver_fd);
  EXPECT_EQ(fcntl(driver_fd, F_GETFD), 0);
  close(driver_fd);
}

// What is not a descriptor comes back byte for byte, for a handle type of any number.
TEST_F(CudaVmmTest, ExportsSixtyFourBytes) {
  std::array<uint8_t, 64> bytes = {};
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i + 1);
  SetOutput(bytes.data(), bytes.size());
  for (const HandleType type : {HandleType::kFabric, static_cast<HandleType>(0x40)}) {
    const auto exported = vmm_.ExportShareableHandle(kHandle, type);
    ASSERT_THAT(exported, IsOk());
    EXPECT_EQ(exported->type, type);
    EXPECT_EQ(exported->file_descriptor, -1);
    EXPECT_EQ(exported->fabric, bytes);
  }
}

std::array<uint8_t, 64> imported_bytes;

// A fabric handle is imported through a pointer to its bytes.
TEST_F(CudaVmmTest, ImportsTheBytesOfAFabricHandle) {
  DriverTable table = FakeDriver::Table();
  table.cuMemImportFromShareableHandle = [](cuda_abi::CUmemGenericAllocationHandle*,
                                            void* os_handle, int) {
    std::memcpy(imported_bytes.data(), os_handle, imported_bytes.size());
    return 0;
  };
  CudaVmm vmm(table, contexts_);
  ShareableHandle shareable;
  shareable.type = HandleType::kFabric;
  for (size_t i = 0; i < shareable.fabric.size(); ++i) {
    shareable.fabric[i] = static_cast<uint8_t>(200 - i);
  }
  EXPECT_THAT(vmm.ImportShareableHandle(shareable), IsOk());
  EXPECT_EQ(imported_bytes, shareable.fabric);
}

// Every other type is imported as a number, negative ones included.
TEST_F(CudaVmmTest, ImportsOtherTypesAsTheNumber) {
  EXPECT_THAT(vmm_.ImportShareableHandle({static_cast<HandleType>(0x40), -1, {}}), IsOk());
  EXPECT_THAT(fake_.TakeCalls(),
              ElementsAre("cuMemImportFromShareableHandle(out, 0xffffffffffffffff, 0x40)"));
}

// A device that does not exist is the driver's to refuse, with the ordinal as it came.
TEST_F(CudaVmmTest, PassesOnThatADeviceDoesNotExist) {
  fake_.SetResult(Symbol::cuDeviceGet, 101);
  const auto name = vmm_.GetDeviceName(DeviceOrdinal(-5));
  EXPECT_THAT(name, StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(name, HasDriverCode(DriverCode::kInvalidDevice));
  EXPECT_EQ(name.status().message(),
            "cuDeviceGet(ordinal=-5) failed: CUDA_ERROR_INVALID_DEVICE (101)");
}

}  // namespace
}  // namespace twinmmu
