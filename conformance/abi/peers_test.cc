// Two devices.

#include <utility>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

class PeersTest : public TwoDevicesTest {
 protected:
  void SetUp() override {
    TwoDevicesTest::SetUp();
    if (IsSkipped()) return;
    int can = 0;
    ASSERT_EQ(cuDeviceCanAccessPeer(&can, 0, 1), CUDA_SUCCESS);
    if (can == 0) GTEST_SKIP() << "needs devices that reach each other";
    ASSERT_EQ(cuCtxSetCurrent(second_), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc(&of_second_, 4096), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc(&of_first_, 4096), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (context_ != nullptr) {
      EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    }
    EXPECT_EQ(cuMemFree(of_first_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree(of_second_), CUDA_SUCCESS) << "in the other context";
    TwoDevicesTest::TearDown();
  }

  CUdeviceptr of_first_ = 0;
  CUdeviceptr of_second_ = 0;
};

TEST_F(PeersTest, AreLikeDevicesWithAFastLink) {
  for (const auto& [attribute, expected] :
       {std::pair(1, 0), std::pair(2, 1), std::pair(3, 1), std::pair(4, 1), std::pair(5, 0)}) {
    int value = -5;
    EXPECT_EQ(cuDeviceGetP2PAttribute(&value, static_cast<CUdevice_P2PAttribute>(attribute), 0, 1),
              CUDA_SUCCESS);
    EXPECT_EQ(value, expected) << attribute;
  }
}

TEST_F(PeersTest, UnknownAttributesAreRefused) {
  int value = -5;
  for (const int attribute : {0, 6}) {
    EXPECT_EQ(cuDeviceGetP2PAttribute(&value, static_cast<CUdevice_P2PAttribute>(attribute), 0, 1),
              CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(value, -5);
}

TEST_F(PeersTest, AttributesOfOneDeviceAndOfNoneAreRefused) {
  int value = -5;
  const auto none = static_cast<CUdevice_P2PAttribute>(0);
  const auto access = CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
  EXPECT_EQ(cuDeviceGetP2PAttribute(&value, access, 0, 0), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGetP2PAttribute(&value, access, 0, 99), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGetP2PAttribute(&value, none, 0, 99), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(value, -5);
}

// --- Copies --------------------------------------------------------------------------------------

TEST_F(PeersTest, PlainMemoryIsCopiedWithoutEnabling) {
  const Mapping mapping;
  int value = 5;
  EXPECT_EQ(cuMemcpyHtoD(of_second_, &value, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoD(of_first_, of_second_, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoD(of_second_, mapping.address(), 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoD(mapping.address(), of_second_, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpy(mapping.address(), of_second_, 4), CUDA_SUCCESS);
  value = 0;
  EXPECT_EQ(cuMemcpyDtoH(&value, of_first_, 4), CUDA_SUCCESS);
  EXPECT_EQ(value, 5);
}

TEST_F(PeersTest, MappingsOfTheOtherAreNotCopiedWithoutRights) {
  const Mapping mapping;
  const Mapping other(1);
  int value = 5;
  EXPECT_EQ(cuMemcpyDtoH(&value, other.address(), 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoD(mapping.address(), other.address(), 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy(mapping.address(), other.address(), 4), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PeersTest, CopiesBetweenContextsTakeTheRightsOfEach) {
  const Mapping mapping;
  const Mapping other(1);
  int value = 5;
  EXPECT_EQ(cuCtxSetCurrent(second_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyHtoD(other.address(), &value, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyPeer(mapping.address(), context_, other.address(), second_, 4), CUDA_SUCCESS);
  value = 0;
  EXPECT_EQ(cuMemcpyDtoH(&value, mapping.address(), 4), CUDA_SUCCESS);
  EXPECT_EQ(value, 5);
  EXPECT_EQ(cuMemcpyPeer(other.address(), second_, mapping.address(), context_, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyPeer(mapping.address(), context_, mapping.address(), context_, 4),
            CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyPeerAsync(mapping.address(), context_, other.address(), second_, 4, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
}

TEST_F(PeersTest, CopiesBetweenContextsNeedTheRightsOfEach) {
  const Mapping mapping;
  const Mapping other(1);
  const Mapping without(1, /*granted=*/false);
  EXPECT_EQ(cuMemcpyPeer(mapping.address(), context_, without.address(), second_, 4),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyPeer(mapping.address(), second_, other.address(), context_, 4),
            CUDA_ERROR_INVALID_VALUE)
      << "the contexts are exchanged";
}

TEST_F(PeersTest, CopiesBetweenContextsKeepTheBounds) {
  EXPECT_EQ(cuMemcpyPeer(of_first_, context_, of_second_, second_, 4096), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyPeer(of_first_, context_, of_second_, second_, 4097), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyPeer(of_first_, context_, of_second_, second_, 0), CUDA_SUCCESS);
}

// --- Enabling access -----------------------------------------------------------------------------

TEST_F(PeersTest, AccessIsEnabledAndDisabledOnce) {
  EXPECT_EQ(cuCtxDisablePeerAccess(second_), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  EXPECT_EQ(cuCtxEnablePeerAccess(second_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxEnablePeerAccess(second_, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(cuCtxDisablePeerAccess(second_), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDisablePeerAccess(second_), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
}

TEST_F(PeersTest, AccessToItselfAndToNullIsRefused) {
  EXPECT_EQ(cuCtxEnablePeerAccess(context_, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  EXPECT_EQ(cuCtxDisablePeerAccess(context_), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  EXPECT_EQ(cuCtxEnablePeerAccess(nullptr, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxDisablePeerAccess(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxEnablePeerAccess(second_, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PeersTest, AccessToADeadContextIsRefused) {
  CUcontext dead = nullptr;
  EXPECT_EQ(cuCtxCreate(&dead, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(dead), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxEnablePeerAccess(dead, 0), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_F(PeersTest, PlainMemoryIsFilledOnceAccessIsEnabled) {
  EXPECT_EQ(cuMemsetD8(of_second_, 1, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxEnablePeerAccess(second_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8(of_second_, 1, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDisablePeerAccess(second_), CUDA_SUCCESS);
}

TEST_F(PeersTest, EnablingGivesNoRightsToMappings) {
  const Mapping mapping;
  const Mapping other(1);
  EXPECT_EQ(cuCtxEnablePeerAccess(second_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8(other.address(), 1, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoD(mapping.address(), other.address(), 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxDisablePeerAccess(second_), CUDA_SUCCESS);
}

TEST_F(PeersTest, PlainMemoryHasAnAddressInTheOtherContextOnceEnabled) {
  CUdeviceptr address = 0;
  CUdeviceptr base = 7;
  EXPECT_EQ(cuPointerGetAttribute(&address, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, of_second_),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemGetAddressRange(&base, nullptr, of_second_), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuCtxEnablePeerAccess(second_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuPointerGetAttribute(&address, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, of_second_),
            CUDA_SUCCESS);
  EXPECT_EQ(address, of_second_);
  EXPECT_EQ(cuMemGetAddressRange(&base, nullptr, of_second_), CUDA_SUCCESS);
  EXPECT_EQ(base, of_second_);
  EXPECT_EQ(cuCtxDisablePeerAccess(second_), CUDA_SUCCESS);
}

TEST_F(PeersTest, AttributesTellWhoseMemoryItIs) {
  CUcontext context = nullptr;
  int device = -1;
  unsigned int access = 9;
  EXPECT_EQ(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, of_second_),
            CUDA_SUCCESS);
  EXPECT_EQ(context, second_);
  EXPECT_EQ(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, of_second_),
            CUDA_SUCCESS);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, of_second_),
            CUDA_SUCCESS);
  EXPECT_EQ(access, 3u);
}

TEST_F(PeersTest, MappingsOfTheOtherHaveNoAddressHere) {
  const Mapping other(1);
  CUdeviceptr address = 0;
  unsigned int access = 9;
  EXPECT_EQ(cuPointerGetAttribute(&address, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, other.address()),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, other.address()),
            CUDA_SUCCESS);
  EXPECT_EQ(access, 0u);
  EXPECT_EQ(cuMemGetAddressRange(&address, nullptr, other.address()), CUDA_ERROR_NOT_FOUND);
}

}  // namespace
}  // namespace twinmmu::abi
