// The default stream and other streams wait for each other, when work runs as late as it may.

#include <cstdlib>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {

extern "C" CUresult cuLaunchHostFunc(CUstream, void (*)(void*), void*);

namespace {

class DefaultStreamTest : public testing::Test {
 protected:
  DefaultStreamTest() {
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxPushCurrent_v2(context_), CUDA_SUCCESS);
    CUmemAllocationProp prop = {};
    prop.type = 1;
    prop.location = {1, 0};
    const CUmemAccessDesc desc = {{1, 0}, 3};
    EXPECT_EQ(cuMemCreate(&handle_, kSize, &prop, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAddressReserve(&address_, kSize, 0, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemMap(address_, kSize, 0, handle_, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemSetAccess(address_, kSize, &desc, 1), CUDA_SUCCESS);
    EXPECT_EQ(cuMemsetD8_v2(address_, 1, 1), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }
  ~DefaultStreamTest() override {
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(cuMemUnmap(address_, kSize), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAddressFree(address_, kSize), CUDA_SUCCESS);
    EXPECT_EQ(cuMemRelease(handle_), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxPopCurrent_v2(&context_), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  }

  static CUstream Create(unsigned int flags) {
    CUstream stream = nullptr;
    EXPECT_EQ(cuStreamCreate(&stream, flags), CUDA_SUCCESS);
    return stream;
  }
  // Through the default stream.
  int Read() const {
    unsigned char value = 0;
    EXPECT_EQ(cuMemcpyDtoH_v2(&value, address_, 1), CUDA_SUCCESS);
    return value;
  }
  int ReadThrough(CUstream stream) const {
    unsigned char value = 0;
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(&value, address_, 1, stream), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    return value;
  }

  // An event that is recorded on `stream`.
  static CUevent RecordOn(CUstream stream) {
    CUevent event = nullptr;
    EXPECT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuEventRecord(event, stream), CUDA_SUCCESS);
    return event;
  }
  // Without waiting for any other stream.
  int ReadBesides() const {
    const CUstream stream = Create(CU_STREAM_NON_BLOCKING);
    const int value = ReadThrough(stream);
    EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
    return value;
  }

  static constexpr size_t kSize = size_t{2} << 20;
  CUcontext context_ = nullptr;
  CUmemGenericAllocationHandle handle_ = 0;
  CUdeviceptr address_ = 0;
};

TEST_F(DefaultStreamTest, WaitsForAnOrdinaryStream) {
  const CUstream stream = Create(0);
  EXPECT_EQ(cuMemsetD8Async(address_, 2, 1, stream), CUDA_SUCCESS);
  EXPECT_EQ(Read(), 2);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(DefaultStreamTest, IsWaitedForByAnOrdinaryStream) {
  const CUstream stream = Create(0);
  EXPECT_EQ(cuMemsetD8_v2(address_, 2, 1), CUDA_SUCCESS);
  EXPECT_EQ(ReadThrough(stream), 2);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(DefaultStreamTest, DoesNotWaitForANonBlockingStream) {
  const CUstream stream = Create(CU_STREAM_NON_BLOCKING);
  EXPECT_EQ(cuMemsetD8Async(address_, 2, 1, stream), CUDA_SUCCESS);
  EXPECT_EQ(Read(), 1);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(DefaultStreamTest, IsNotWaitedForByANonBlockingStream) {
  const CUstream stream = Create(CU_STREAM_NON_BLOCKING);
  EXPECT_EQ(cuMemsetD8_v2(address_, 2, 1), CUDA_SUCCESS);
  EXPECT_EQ(ReadThrough(stream), 1);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(DefaultStreamTest, HasAnEventReachedAfterTheWorkOfAnOrdinaryStream) {
  const CUstream stream = Create(0);
  EXPECT_EQ(cuMemsetD8Async(address_, 2, 1, stream), CUDA_SUCCESS);
  const CUevent event = RecordOn(nullptr);
  EXPECT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
  EXPECT_EQ(ReadBesides(), 2);
  EXPECT_EQ(cuEventDestroy_v2(event), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(DefaultStreamTest, HasItsWorkDoneBeforeAnEventOfAnOrdinaryStream) {
  const CUstream stream = Create(0);
  EXPECT_EQ(cuMemsetD8_v2(address_, 2, 1), CUDA_SUCCESS);
  const CUevent event = RecordOn(stream);
  EXPECT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
  EXPECT_EQ(ReadBesides(), 2);
  EXPECT_EQ(cuEventDestroy_v2(event), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(DefaultStreamTest, IsSynchronizedWithTheWorkOfAnOrdinaryStream) {
  const CUstream stream = Create(0);
  EXPECT_EQ(cuMemsetD8Async(address_, 2, 1, stream), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(ReadBesides(), 2);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(DefaultStreamTest, IsNotDoneBeforeTheWorkOfAnOrdinaryStream) {
  const CUstream stream = Create(0);
  EXPECT_EQ(cuMemsetD8Async(address_, 2, 1, stream), CUDA_SUCCESS);
  while (cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY) {
  }
  EXPECT_EQ(ReadBesides(), 2);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(DefaultStreamTest, OrdersNothingWhenAskedWhetherItIsDone) {
  const CUstream stream = Create(0);
  const CUstream other = Create(0);
  for (const unsigned char value : {2, 3}) {
    EXPECT_EQ(cuMemsetD8Async(address_, value, 1, stream), CUDA_SUCCESS);
  }
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  EXPECT_NE(ReadThrough(other), 3);
  EXPECT_EQ(cuStreamDestroy_v2(other), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(DefaultStreamTest, CallsFunctionsBehindTheWorkOfAnOrdinaryStream) {
  const CUstream stream = Create(0);
  EXPECT_EQ(cuMemsetD8Async(address_, 2, 1, stream), CUDA_SUCCESS);
  bool called = false;
  EXPECT_EQ(cuLaunchHostFunc(
                nullptr, [](void* argument) { *static_cast<bool*>(argument) = true; }, &called),
            CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_TRUE(called);
  EXPECT_EQ(ReadBesides(), 2);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

// A wait is an action as a launch is: behind it, ordinary streams come after one another.
TEST_F(DefaultStreamTest, OrdersOtherStreamsByAWaitForAnEvent) {
  const CUstream stream = Create(0);
  const CUstream other = Create(0);
  const CUevent reached = RecordOn(nullptr);
  EXPECT_EQ(cuEventSynchronize(reached), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(address_, 2, 1, stream), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(nullptr, reached, 0), CUDA_SUCCESS);
  EXPECT_EQ(ReadThrough(other), 2);
  EXPECT_EQ(cuEventDestroy_v2(reached), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy_v2(other), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  setenv("TWINMMU_STREAM_POLICY", "deferred", 1);  // before the first call
  return RUN_ALL_TESTS();
}
