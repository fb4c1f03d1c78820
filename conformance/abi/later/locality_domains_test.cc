// Memory of a part of a device. [CUDA 13.4]

#include "conformance/abi/later/later_driver.h"

namespace twinmmu::abi {
namespace {

constexpr auto kLocalityDomain = static_cast<CUmemLocationType>(6);
constexpr auto kDomainOrdinal = static_cast<CUpointer_attribute>(22);
constexpr unsigned short kRdmaOverPcie = 4;

CUmemAllocationProp InDomain(CUdevice device, int domain) {
  CUmemAllocationProp properties = PinnedOn(device);
  properties.location.type = kLocalityDomain;
  properties.location.id = device | domain << 8;  // two bytes
  return properties;
}

CUresult CreateIn(const CUmemAllocationProp& properties) {
  CUmemGenericAllocationHandle handle = 0;
  const CUresult made = cuMemCreate(&handle, kChunk, &properties, 0);
  if (made == CUDA_SUCCESS) {
    EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  }
  return made;
}

int DomainOf(CUdeviceptr address) {
  int domain = -7;
  EXPECT_EQ(cuPointerGetAttribute(&domain, kDomainOrdinal, address), CUDA_SUCCESS);
  return domain;
}

class LocalityDomainTest : public LaterDriverTest<13040, 149> {
 protected:
  void SetUp() override {
    LaterDriverTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(cuDeviceGetAttribute(&domains_, static_cast<CUdevice_attribute>(149), 0),
              CUDA_SUCCESS);
    if (domains_ == 1) GTEST_SKIP() << "the device is all one domain";
  }

  int domains_ = 0;
};

TEST_F(LocalityDomainTest, MemoryIsMadeInEachDomain) {
  for (int domain = 0; domain < domains_; ++domain) {
    const CUmemAllocationProp asked = InDomain(0, domain);
    CUmemGenericAllocationHandle handle = 0;
    const size_t before = FreeMemory();
    ASSERT_EQ(cuMemCreate(&handle, kChunk, &asked, 0), CUDA_SUCCESS);
    EXPECT_EQ(FreeMemory(), before - kChunk) << "it is memory of the device";
    CUmemAllocationProp told = {};
    EXPECT_EQ(cuMemGetAllocationPropertiesFromHandle(&told, handle), CUDA_SUCCESS);
    EXPECT_EQ(told.location.type, kLocalityDomain);
    EXPECT_EQ(told.location.id, asked.location.id);
    CUdeviceptr address = 0;
    ASSERT_EQ(cuMemAddressReserve(&address, kChunk, 0, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuMemMap(address, kChunk, 0, handle, 0), CUDA_SUCCESS);
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    EXPECT_EQ(cuMemSetAccess(address, kChunk, &access, 1), CUDA_SUCCESS);
    EXPECT_EQ(cuMemsetD32(address, 5, 1), CUDA_SUCCESS);
    EXPECT_EQ(DomainOf(address), domain);
    int device = -1;
    EXPECT_EQ(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address),
              CUDA_SUCCESS);
    EXPECT_EQ(device, 0);
    EXPECT_EQ(cuMemUnmap(address, kChunk), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAddressFree(address, kChunk), CUDA_SUCCESS);
    EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
    EXPECT_EQ(FreeMemory(), before);
  }
}

TEST_F(LocalityDomainTest, OtherMemoryIsInNone) {
  const Mapping mapping;
  EXPECT_EQ(DomainOf(mapping.address()), -1);
  const Buffer buffer(100);
  EXPECT_EQ(DomainOf(buffer.address()), -1);
  int domain = -7;
  EXPECT_EQ(cuPointerGetAttribute(&domain, kDomainOrdinal, AddressOf(&domain)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(domain, -7);
}

TEST_F(LocalityDomainTest, DomainsThatDoNotExistAreRefused) {
  EXPECT_EQ(CreateIn(InDomain(0, domains_)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CreateIn(InDomain(0, 255)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CreateIn(InDomain(DeviceCount(), 0)), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(LocalityDomainTest, TheyHaveAGranularity) {
  const CUmemAllocationProp properties = InDomain(0, 1);
  size_t granularity = 0;
  EXPECT_EQ(
      cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
      CUDA_SUCCESS);
  EXPECT_EQ(granularity, kChunk);
}

// Access is a device's.
TEST_F(LocalityDomainTest, NoneIsGrantedAccess) {
  const Mapping mapping(0, false);
  CUmemAccessDesc access = {{kLocalityDomain, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT_EQ(cuMemSetAccess(mapping.address(), mapping.size(), &access, 1),
            CUDA_ERROR_INVALID_VALUE);
}

// Unless the usual way of RDMA is one for such memory.
TEST_F(LocalityDomainTest, MemoryForRdmaIsForPcie) {
  int usual = 0;
  ASSERT_EQ(cuDeviceGetAttribute(&usual, static_cast<CUdevice_attribute>(161), 0), CUDA_SUCCESS);
  CUmemAllocationProp properties = InDomain(0, 1);
  properties.allocFlags.gpuDirectRDMACapable = 1;
  EXPECT_EQ(CreateIn(properties), usual == 1 ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED);
  properties.allocFlags.usage = kRdmaOverPcie;
  EXPECT_EQ(CreateIn(properties), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
